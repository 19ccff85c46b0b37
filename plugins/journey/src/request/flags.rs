//! Flags inside a prompt (`a red kite --ar 16:9 --v 7`): found, overridden by body fields, and written again.
//!
//! What is not overridden stays as the client wrote it, and so does all text before the first flag.

use std::fmt::Write as _;

/// A prompt and its flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prompt {
    text: String,
    items: Vec<Item>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Flag {
        name: &'static str,
        written: String,
        value: String,
    },
    /// A flag this family does not know, or words between flags.
    Other(String),
}

/// How many words follow a flag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    None,
    One,
    /// One, if it is a number.
    Number,
    /// All up to the next flag.
    Many,
}

/// Every flag that a body field or the price depends on: its names, the first as this family calls it.
const FLAGS: [(&[&str], Value); 31] = [
    (&["ar", "aspect"], Value::One),
    (&["v", "version"], Value::One),
    (&["niji"], Value::Number),
    (&["q", "quality"], Value::One),
    (&["style"], Value::One),
    (&["s", "stylize"], Value::One),
    (&["c", "chaos"], Value::One),
    (&["w", "weird"], Value::One),
    (&["seed"], Value::One),
    (&["no"], Value::Many),
    (&["tile"], Value::None),
    (&["iw"], Value::One),
    (&["cw"], Value::One),
    (&["sw"], Value::One),
    (&["dw"], Value::One),
    (&["cref"], Value::Many),
    (&["sref"], Value::Many),
    (&["dref"], Value::Many),
    (&["repeat", "r"], Value::One),
    (&["raw"], Value::None),
    (&["draft"], Value::None),
    (&["hd"], Value::None),
    (&["stop"], Value::One),
    (&["relax"], Value::None),
    (&["fast"], Value::None),
    (&["turbo"], Value::None),
    (&["video"], Value::Number),
    (&["motion"], Value::One),
    (&["bs"], Value::One),
    (&["end"], Value::One),
    (&["loop"], Value::None),
];

impl Prompt {
    pub(crate) fn read(prompt: &str) -> Self {
        let start =
            words(prompt).find(|(_, word)| flag_name(word).is_some()).map_or(prompt.len(), |(at, _)| at);
        let (text, flags) = prompt.split_at(start);
        Self { text: text.trim_end().to_owned(), items: items(flags) }
    }

    /// The value of the last such flag, which is the one that counts; empty for a flag without one.
    pub(crate) fn value(&self, flag: &str) -> Option<&str> {
        self.items.iter().rev().find_map(|item| match item {
            Item::Flag { name, value, .. } if *name == flag => Some(value.as_str()),
            _ => None,
        })
    }

    /// Takes out every such flag.
    pub(crate) fn drop_flag(&mut self, flag: &str) {
        self.items.retain(|item| !matches!(item, Item::Flag { name, .. } if *name == flag));
    }

    /// The last of several flags.
    pub(crate) fn last_of<'a>(&self, flags: &[&'a str]) -> Option<&'a str> {
        self.items.iter().rev().find_map(|item| match item {
            Item::Flag { name, .. } => flags.iter().find(|flag| *flag == name).copied(),
            Item::Other(_) => None,
        })
    }

    /// Appends text as it is.
    pub(crate) fn append(&mut self, words: impl Into<String>) {
        self.items.push(Item::Other(words.into()));
    }

    /// What stands before the first flag.
    pub(crate) fn text(&self) -> &str {
        self.text.trim()
    }

    /// Whether anything but flags is in it.
    pub(crate) fn has_text(&self) -> bool {
        !self.text().is_empty()
    }

    pub(crate) fn write(&self) -> String {
        let mut all = self.text.clone();
        for item in &self.items {
            let gap = if all.is_empty() { "" } else { " " };
            // Writing into a string cannot fail.
            let _ = match item {
                Item::Flag { written, value, .. } if value.is_empty() => write!(all, "{gap}{written}"),
                Item::Flag { written, value, .. } => write!(all, "{gap}{written} {value}"),
                Item::Other(words) => write!(all, "{gap}{words}"),
            };
        }
        all
    }
}

fn items(flags: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut words = words(flags).map(|(_, word)| word).peekable();
    while let Some(word) = words.next() {
        let known = flag_name(word).and_then(|name| {
            FLAGS
                .iter()
                .find(|(names, _)| names.contains(&name.as_str()))
                .map(|(names, value)| (names[0], *value))
        });
        let Some((name, takes)) = known else {
            items.push(Item::Other(word.to_owned()));
            continue;
        };
        let mut value = Vec::new();
        while let Some(next) = words.peek().filter(|next| flag_name(next).is_none()) {
            let fits = match takes {
                Value::None => false,
                Value::One => value.is_empty(),
                Value::Number => {
                    value.is_empty() && next.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
                }
                Value::Many => true,
            };
            if !fits {
                break;
            }
            value.extend(words.next());
        }
        let written = format!("--{}", word.trim_start_matches(DASHES));
        items.push(Item::Flag { name, written, value: value.join(" ") });
    }
    items
}

/// Some keyboards turn two dashes into one long one, and the engine takes it for two.
const DASHES: [char; 2] = ['-', '\u{2014}'];

/// The name of a flag, in lower case; `None` for any other word.
fn flag_name(word: &str) -> Option<String> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('\u{2014}'))?;
    name.starts_with(|first: char| first.is_ascii_alphabetic()).then(|| name.to_ascii_lowercase())
}

/// Whether a text holds a flag.
pub(crate) fn has_flag(text: &str) -> bool {
    words(text).any(|(_, word)| flag_name(word).is_some())
}

/// Each word and where it begins.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace().map(|word| (word.as_ptr().addr() - text.as_ptr().addr(), word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_written_as_it_was_read() {
        for prompt in [
            "a red kite",
            "a red kite\n\nin two  lines --v 7 --ar 16:9",
            "a kite --no red, blue --s 100 --unknown x y",
            "a kite -- over --- the sea --v 7",
            "--v 7",
            "",
        ] {
            assert_eq!(Prompt::read(prompt).write(), prompt, "{prompt:?}");
        }
        assert_eq!(Prompt::read("a kite \u{2014}v 7  --Fast").write(), "a kite --v 7 --Fast");
    }

    #[test]
    fn the_last_value_of_a_flag_counts() {
        let prompt = Prompt::read("a kite --v 6.1 --no red, blue --version 7 --tile --niji --ar");
        assert_eq!(prompt.value("v"), Some("7"));
        assert_eq!(prompt.value("no"), Some("red, blue"));
        assert_eq!(prompt.value("tile"), Some(""));
        assert_eq!(prompt.value("niji"), Some(""));
        assert_eq!(prompt.value("ar"), Some(""));
        assert_eq!(prompt.value("s"), None);
        assert_eq!(prompt.last_of(&["tile", "v"]), Some("tile"));
        assert_eq!(Prompt::read("a --niji 6 b").value("niji"), Some("6"));
        assert_eq!(Prompt::read("a --niji b").value("niji"), Some(""));
    }

    #[test]
    fn an_overridden_flag_leaves_with_its_value_only() {
        let mut prompt = Prompt::read("a kite --V 6.1 over the sea --s 5 --v 7 --no a b");
        prompt.drop_flag("v");
        assert_eq!(prompt.write(), "a kite over the sea --s 5 --no a b");
        prompt.drop_flag("no");
        prompt.append("--v 8.1");
        assert_eq!(prompt.write(), "a kite over the sea --s 5 --v 8.1");
    }

    #[test]
    fn text_is_told_from_flags() {
        assert!(Prompt::read("a --v 7").has_text());
        assert!(!Prompt::read(" --v 7").has_text());
        assert!(has_flag("red --fast") && has_flag("\u{2014}fast") && !has_flag("red - fast -- x"));
    }
}
