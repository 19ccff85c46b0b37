//! What the tables of providers keep: the latest entries, and only a part of long texts. Also makes the random part of ids.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

/// Entries by id: the latest 100,000. The ids of dropped ones are unknown.
pub(crate) struct ById<T> {
    entries: HashMap<String, T>,
    /// Ids, oldest first.
    order: VecDeque<String>,
}

impl<T> Default for ById<T> {
    fn default() -> Self {
        Self { entries: HashMap::new(), order: VecDeque::new() }
    }
}

impl<T> ById<T> {
    const MOST: usize = 100_000;

    /// Keeps a new entry; gives the id of the one that is dropped for it.
    pub(crate) fn insert(&mut self, id: &str, entry: T) -> Option<String> {
        let dropped = if self.order.len() == Self::MOST { self.order.pop_front() } else { None };
        dropped.iter().for_each(|oldest| drop(self.entries.remove(oldest)));
        self.entries.insert(id.to_owned(), entry);
        self.order.push_back(id.to_owned());
        dropped
    }

    pub(crate) fn get(&self, id: &str) -> Option<&T> {
        self.entries.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut T> {
        self.entries.get_mut(id)
    }

    /// Puts an entry in place of the one of that id, which keeps its age.
    pub(crate) fn replace(&mut self, id: &str, entry: T) {
        self.entries.insert(id.to_owned(), entry);
    }

    /// Forgets an entry.
    pub(crate) fn remove(&mut self, id: &str) {
        self.entries.remove(id);
        self.order.retain(|kept| kept != id);
    }

    /// Oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.order.iter().filter_map(|id| self.entries.get(id))
    }
}

/// The latest 10,000, oldest first.
pub(crate) struct Latest<T>(pub(crate) VecDeque<T>);

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: Clone> Latest<T> {
    pub(crate) const MOST: usize = 10_000;

    pub(crate) fn push(&mut self, entry: T) {
        if self.0.len() == Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back(entry);
    }

    pub(crate) fn listed(&self) -> Vec<T> {
        self.0.iter().cloned().collect()
    }
}

/// The same value, with each text for which `cut` gives another replaced by that; `cut` gets the name of its field, or an empty
/// one, and the text.
pub(crate) fn cut_texts(name: &str, value: &Value, cut: fn(&str, &str) -> Option<String>) -> Value {
    match value {
        Value::String(text) => cut(name, text).map_or_else(|| value.clone(), Value::String),
        Value::Array(items) => items.iter().map(|item| cut_texts("", item, cut)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), cut_texts(name, value, cut))).collect()
        }
        other => other.clone(),
    }
}

/// A random UUID.
pub(crate) fn fresh_id() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string())
}

/// Random lower-case letters and digits, as ids end in.
pub(crate) fn random_word(length: usize) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut bytes = vec![0; length];
    if getrandom::fill(&mut bytes).is_err() {
        tracing::error!("no randomness, ids of the sandbox may repeat");
    }
    bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect()
}
