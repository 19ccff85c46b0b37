//! What a client notes down about a request: its own user, and pairs of names and values. Bounded, and free of keys.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::apikey::ApiKey;

/// Pairs of one request that are kept: the first ones.
const MAX_PAIRS: usize = 16;
/// Characters of a name.
const MAX_NAME: usize = 64;
/// Characters of a value, and of a user.
const MAX_VALUE: usize = 512;

/// The tags of a request. Whatever is longer, or holds a key of a gateway, is not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tags {
    /// Whom the client serves with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Values by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

impl Tags {
    /// What of it can be kept. An empty text says nothing.
    #[must_use]
    pub fn new(user: Option<String>, pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let pairs = pairs.into_iter().filter(|(name, value)| fits(name, MAX_NAME) && fits(value, MAX_VALUE));
        Self { user: user.filter(|user| fits(user, MAX_VALUE)), metadata: pairs.take(MAX_PAIRS).collect() }
    }

    /// Whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.user.is_none() && self.metadata.is_empty()
    }

    /// What they take in memory, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let pairs = self.metadata.iter().map(|(name, value)| name.len() + value.len());
        self.user.as_ref().map_or(0, String::len) + pairs.sum::<usize>()
    }

    /// Whether that user and that pair are among them; `None` asks for nothing.
    #[must_use]
    pub fn have(&self, user: Option<&str>, pair: Option<&(String, String)>) -> bool {
        user.is_none_or(|user| self.user.as_deref() == Some(user))
            && pair.is_none_or(|(name, value)| self.metadata.get(name) == Some(value))
    }
}

fn fits(text: &str, most: usize) -> bool {
    !text.is_empty() && text.chars().take(most + 1).count() <= most && !holds_key(text)
}

fn holds_key(text: &str) -> bool {
    let starts = text.match_indices(ApiKey::PREFIX).map(|(at, _)| at);
    starts.filter_map(|at| text.get(at..at + ApiKey::LENGTH)).any(|part| ApiKey::parse(part).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apikey::tests::minted;

    /// Without it one client fills the log and the rows of tasks, or writes its secret into them.
    #[test]
    fn what_is_long_or_secret_is_not_kept() {
        let key = minted().reveal().to_owned();
        let pairs = |list: &[(&str, &str)]| -> Vec<_> {
            list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let (name, value) = ("é".repeat(MAX_NAME), "ü".repeat(MAX_VALUE));
        let (long_name, long_value) = (format!("{name}x"), format!("{value}x"));
        let kept = Tags::new(
            Some(long_value.clone()),
            pairs(&[
                (&name, &value),
                (&long_name, "v"),
                ("n", &long_value),
                ("", "v"),
                ("empty", ""),
                ("key", &key),
                ("hidden", &format!("Bearer {key}, see task-{key}")),
                ("between", &format!("x{key}-y")),
                (&key, "v"),
                ("task-1", "risk-free"),
            ]),
        );
        assert_eq!(
            kept,
            Tags {
                user: None,
                metadata: pairs(&[(&name, &value), ("task-1", "risk-free")]).into_iter().collect()
            }
        );
        let many = Tags::new(None, (0..100).map(|number| (format!("{number:02}"), "v".to_owned())));
        assert_eq!((many.metadata.len(), many.metadata.contains_key("15")), (MAX_PAIRS, true));
        assert!(Tags::new(Some(key), []).is_empty());
    }

    #[test]
    fn a_pair_is_found_by_name_and_value() {
        let tags = Tags::new(Some("u".to_owned()), [("team".to_owned(), "red".to_owned())]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        for (user, wanted, found) in [
            (None, None, true),
            (Some("u"), Some(pair("team", "red")), true),
            (Some("v"), None, false),
            (None, Some(pair("team", "re")), false),
            (None, Some(pair("other", "red")), false),
        ] {
            assert_eq!(tags.have(user, wanted.as_ref()), found, "{user:?} {wanted:?}");
        }
    }
}
