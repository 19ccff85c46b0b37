//! Replaces values inside a JSON text and copies everything else byte for byte.

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

    /// Writes a value with the replacements inside it.
    pub fn write(&self, value: Raw<'_>, out: &mut String) {
        let text = value.get();
        let base = text.as_ptr() as usize;
        let mut inside: Vec<_> =
            self.0.iter().filter(|(from, to, _)| *from >= base && *to <= base + text.len()).collect();
        inside.sort_unstable_by_key(|(from, ..)| *from);
        let mut done = 0;
        for (from, to, new) in inside {
            out.push_str(&text[done..from - base]);
            out.push_str(new);
            done = to - base;
        }
        out.push_str(&text[done..]);
    }
}
