//! Types that say a thing once: enums with the word of each variant, structs with the default of each field, and
//! views and policies whose fields are told with where they come from.

/// An enum with the word of each variant beside it: `as_str` tells it, `FromStr` reads it.
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[$variant_meta])* $variant,)*
        }

        impl $name {
            /// All of them, in order.
            $vis const ALL: [Self; [$($word,)*].len()] = [$(Self::$variant,)*];

            /// Its word.
            #[must_use]
            $vis const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::ALL.into_iter().find(|one| one.as_str() == text);
                found.ok_or_else(|| $crate::wrong_word(&[$($word,)*], text))
            }
        }
    };
}

/// A struct with the default of each field beside it; in a table of the configuration, a key that is left out has it.
#[macro_export]
macro_rules! settings {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[$key_meta:meta])* $key_vis:vis $key:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$key_meta])* $key_vis $key: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }
    };
}

/// A type of the API that is made of something else: `name: Type = value` for each field, and before them what the values share.
#[macro_export]
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

/// Fields of a record that are decided together, as a type of their own: the record tells them, and takes others in their place.
macro_rules! policy {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident of $record:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $type,)*
        }

        impl $record {
            /// What an operator decided about it.
            #[must_use]
            $vis fn policy(&self) -> $name {
                $name { $($field: Clone::clone(&self.$field),)* }
            }

            /// The same under another policy.
            #[must_use]
            $vis fn with_policy(self, policy: $name) -> Self {
                let $name { $($field,)* } = policy;
                Self { $($field,)* ..self }
            }
        }
    };
}
pub(crate) use policy;

/// What is said of a text that is another word.
#[must_use]
pub fn wrong_word(words: &[&str], got: &str) -> String {
    match words {
        [before @ .., last] if !before.is_empty() => {
            format!("expected {} or {last}, got {got:?}", before.join(", "))
        }
        words => format!("expected {}, got {got:?}", words.concat()),
    }
}
