//! Replaces values inside a JSON text and copies everything else byte for byte.

use super::object::Object;
use super::string::Raw;

/// Replacements of values inside one text: start and end address of the old value, and the new value.
#[derive(Debug, Default)]
pub struct Edits(Vec<(usize, usize, String)>);

impl Edits {
    /// Writes `new` in place of `old`. `old` must borrow from the text that is written later.
    pub fn replace(&mut self, old: Raw<'_>, new: String) {
        let from = old.get().as_ptr() as usize;
        self.0.push((from, from + old.get().len(), new));
    }

    /// Leaves out items of an array, with their commas. At least one stays.
    pub fn remove(&mut self, items: &[Raw<'_>], is_removed: impl Fn(usize) -> bool) {
        let span = |raw: Raw<'_>| {
            let from = raw.get().as_ptr() as usize;
            (from, from + raw.get().len())
        };
        let Some(last) = (0..items.len()).rev().find(|at| !is_removed(*at)) else { return };
        for at in (0..last).filter(|at| is_removed(*at)) {
            self.0.push((span(items[at]).0, span(items[at + 1]).0, String::new()));
        }
        if let Some(end) = items.last().filter(|_| last + 1 < items.len()) {
            self.0.push((span(items[last]).1, span(end).1, String::new()));
        }
    }

    /// Leaves out the member of an object at that place, with its comma. `false` where it cannot: it is the only one, or the
    /// first, whose place nobody knows where its name or the next one is written with escapes.
    #[must_use]
    pub fn remove_member(&mut self, object: &Object<'_>, at: usize) -> bool {
        let all: Vec<Raw<'_>> = object.iter().map(|(_, raw)| raw).collect();
        let end = |raw: &Raw<'_>| raw.get().as_ptr() as usize + raw.get().len();
        let start = |at: usize| object.name_in_text(at).map(|name| name.as_ptr() as usize - 1);
        let span = match (at.checked_sub(1).and_then(|before| all.get(before)), all.get(at)) {
            (Some(before), Some(member)) => Some((end(before), end(member))),
            _ => start(at).zip(start(at + 1)),
        };
        self.0.extend(span.map(|(from, to)| (from, to, String::new())));
        span.is_some()
    }

    /// Writes a value with the replacements inside it.
    pub fn write(&self, value: Raw<'_>, out: &mut String) {
        let text = value.get();
        let base = text.as_ptr() as usize;
        let mut inside: Vec<_> =
            self.0.iter().filter(|(from, to, _)| *from >= base && *to <= base + text.len()).collect();
        // What is around another comes first.
        inside.sort_unstable_by_key(|(from, to, _)| (*from, std::cmp::Reverse(*to)));
        let mut done = 0;
        for (from, to, new) in inside {
            // Within something that was replaced or left out as a whole.
            if *from - base < done {
                continue;
            }
            out.push_str(&text[done..from - base]);
            out.push_str(new);
            done = to - base;
        }
        out.push_str(&text[done..]);
    }

    /// A value with the replacements inside it.
    #[must_use]
    pub fn written(&self, value: Raw<'_>) -> String {
        let mut out = String::with_capacity(value.get().len() + 64);
        self.write(value, &mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::items;

    #[test]
    fn what_is_left_out_is_not_edited_too() {
        let raw: Raw<'_> = serde_json::from_str("[\" \", 2]").expect("JSON");
        let all = items(raw).expect("an array");
        let mut edits = Edits::default();
        edits.replace(all[0], "1".to_owned());
        edits.remove(&all, |at| at == 0);
        assert_eq!(edits.written(raw), "[2]");
    }

    #[test]
    fn members_go_with_their_commas() {
        for (at, left) in
            [(0, r#"{"b" : [2],"c":3 }"#), (1, r#"{"a": 1,"c":3 }"#), (2, r#"{"a": 1, "b" : [2] }"#)]
        {
            let raw: Raw<'_> = serde_json::from_str(r#"{"a": 1, "b" : [2],"c":3 }"#).expect("JSON");
            let mut edits = Edits::default();
            assert!(edits.remove_member(&Object::parse(raw.get()).expect("an object"), at));
            assert_eq!(edits.written(raw), left, "{at}");
        }
    }

    /// A name with an escape stands elsewhere in memory than the text: what was left out by its address was anything.
    #[test]
    fn a_member_whose_place_is_unknown_stays() {
        for (json, at, left) in [
            (r#"{"\u0061": 1, "b": 2}"#, 0, r#"{"\u0061": 1, "b": 2}"#),
            (r#"{"a": 1, "\u0062": 2}"#, 0, r#"{"a": 1, "\u0062": 2}"#),
            (r#"{"a": 1}"#, 0, r#"{"a": 1}"#),
            (r#"{"a": 1, "\u0062": 2}"#, 1, r#"{"a": 1}"#),
        ] {
            let raw: Raw<'_> = serde_json::from_str(json).expect("JSON");
            let mut edits = Edits::default();
            let removed = edits.remove_member(&Object::parse(raw.get()).expect("an object"), at);
            assert_eq!((edits.written(raw).as_str(), removed), (left, left != json), "{json}");
        }
    }

    #[test]
    fn items_go_with_their_commas() {
        for (json, removed, left) in [
            ("[1, 2, 3]", &[0][..], "[2, 3]"),
            ("[1, 2, 3]", &[1], "[1, 3]"),
            ("[1, 2, 3]", &[2], "[1, 2]"),
            ("[1, 2, 3]", &[0, 1], "[3]"),
            ("[1, 2, 3]", &[1, 2], "[1]"),
            ("[1, 2, 3]", &[0, 2], "[2]"),
            ("[1, 2, 3]", &[], "[1, 2, 3]"),
        ] {
            let raw: Raw<'_> = serde_json::from_str(json).expect("JSON");
            let mut edits = Edits::default();
            edits.remove(&items(raw).expect("an array"), |at| removed.contains(&at));
            assert_eq!(edits.written(raw), left, "{removed:?}");
        }
    }
}
