//! A row as the API shows it: its fields, and beside each the value that it has.

/// A type of the API that is made of something else: `name: Type = value` for each field, and before them what the values share.
macro_rules! view {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident of ($row:tt: $from:ty) $(where { $($shared:tt)* })? {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty = $value:expr,)*
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $type,)*
        }

        impl From<$from> for $name {
            fn from($row: $from) -> Self {
                $($($shared)*)?
                Self { $($field: $value,)* }
            }
        }
    };
}
pub(crate) use view;
