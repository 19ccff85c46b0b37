//! Enums that say a thing once: the word of each variant stands beside it.

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

/// What is said of a text that is none of these words.
#[must_use]
pub fn wrong_word(words: &[&str], got: &str) -> String {
    match words {
        [before @ .., last] if !before.is_empty() => {
            format!("expected {} or {last}, got {got:?}", before.join(", "))
        }
        words => format!("expected {}, got {got:?}", words.concat()),
    }
}
