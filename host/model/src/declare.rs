//! Types that say a thing once: enums with the word of each variant, and tables of the configuration with the default of each key.

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

/// A table of the configuration with the default of each key beside it: a key that is left out has it.
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
