//! Writes JSON objects whose member values are JSON already.

use super::object::whole;
use super::string::Raw;

/// Writes `text` as a JSON string.
pub fn quote(text: &str, into: &mut String) {
    let plain = text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
    if plain {
        into.push('"');
        into.push_str(text);
        into.push('"');
    } else {
        into.push_str(&serde_json::to_string(text).expect("a string always serializes"));
    }
}

/// `text` as a JSON string.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    quote(text, &mut json);
    json
}

/// An object under construction; writes the commas.
#[derive(Debug)]
pub struct Writer {
    json: String,
    first: bool,
}

impl Writer {
    /// An empty object; `capacity` is in bytes.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let mut json = String::with_capacity(capacity);
        json.push('{');
        Self { json, first: true }
    }

    /// Begins a member. The caller writes its value into what is returned.
    pub fn name(&mut self, name: &str) -> &mut String {
        if !self.first {
            self.json.push(',');
        }
        self.first = false;
        quote(name, &mut self.json);
        self.json.push(':');
        &mut self.json
    }

    /// A member whose value is JSON already.
    pub fn member(&mut self, name: &str, json: &str) {
        self.name(name).push_str(json);
    }

    /// A member whose value is JSON already; a whole number is written without a fraction, which some servers refuse.
    pub fn integer(&mut self, name: &str, raw: Raw<'_>) {
        match whole(raw) {
            Some(number) => self.member(name, &number.to_string()),
            None => self.member(name, raw.get()),
        }
    }

    /// A member, if there is one.
    pub fn optional(&mut self, name: &str, raw: Option<Raw<'_>>) {
        if let Some(raw) = raw {
            self.member(name, raw.get());
        }
    }

    /// A member with its new value, JSON, or else with its own; whether there is a new one.
    pub fn changed(&mut self, name: &str, raw: Raw<'_>, new: Option<&str>) -> bool {
        self.member(name, new.unwrap_or_else(|| raw.get()));
        new.is_some()
    }

    /// Members of another object, as they are there.
    pub fn members<'m>(&mut self, members: impl Iterator<Item = (&'m str, Raw<'m>)>) {
        for (name, raw) in members {
            self.member(name, raw.get());
        }
    }

    /// A member whose value is a text.
    pub fn string(&mut self, name: &str, text: &str) {
        quote(text, self.name(name));
    }

    /// The object.
    #[must_use]
    pub fn done(mut self) -> String {
        self.json.push('}');
        self.json
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Writer {
    /// An object of members whose values are JSON already.
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(members: I) -> Self {
        let mut writer = Self::new(128);
        for (name, json) in members {
            writer.member(name, json);
        }
        writer
    }
}
