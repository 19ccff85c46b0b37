//! Events that differ from one before in a few texts only: what is around the texts is compared, not parsed again. Streams
//! are made of them, and to parse them is most of what their translation costs. Never decides which texts may differ.

use super::string::JsonString;

/// Templates in a row that no event fits: the provider's events differ in more than that, and none is made any more.
const MAX_UNUSED: u8 = 4;

/// So many texts of an event may differ.
const MAX_TEXTS: usize = 2;

/// The template of a stream's present events.
#[derive(Debug, Default)]
pub struct Repeated {
    template: Option<Template>,
    unused: u8,
}

/// An event as it was read and as it was written: what is between the texts that differ, quotes included.
#[derive(Debug)]
struct Template {
    read: Vec<String>,
    written: Vec<String>,
}

impl Repeated {
    /// The event as it is to be written, and the bytes of its first text, if it differs from the last one that was
    /// learned in the texts alone. `None` also where a text has an escape or a control character, or where the first one is empty:
    /// the parser judges it.
    #[must_use]
    pub fn write(&mut self, read: &str) -> Option<(String, u64)> {
        let template = self.template.as_ref()?;
        let texts = template.texts(read).filter(|texts| !texts[0].is_empty())?;
        self.unused = 0;
        Some((template.write(&texts), texts[0].len() as u64))
    }

    /// Forgets the event that was learned last: one like it would be written in another way.
    pub fn forget(&mut self) {
        self.template = None;
    }

    /// Whether an event would still be learned: where not, its texts need not be looked for.
    #[must_use]
    pub fn is_learning(&self) -> bool {
        self.unused < MAX_UNUSED
    }

    /// Learns an event that was parsed and then written, and the texts in both that may differ, in their order.
    pub fn learn(&mut self, read: &str, texts: &[JsonString<'_>], written: &str) {
        if self.is_learning() {
            self.template = Template::new(read, texts, written);
            self.unused += 1;
        }
    }
}

impl Template {
    /// `None` where a text cannot be told from the rest, as it stands in one of them twice or not as it is, or where there are too
    /// many.
    fn new(read: &str, texts: &[JsonString<'_>], written: &str) -> Option<Self> {
        if !(1..=MAX_TEXTS).contains(&texts.len()) {
            return None;
        }
        Some(Self { read: around(read, texts)?, written: around(written, texts)? })
    }

    fn texts<'a>(&self, read: &'a str) -> Option<[&'a str; MAX_TEXTS]> {
        let (first, rest) = self.read.split_first()?;
        let mut left = read.strip_prefix(first.as_str())?;
        let mut texts = [""; MAX_TEXTS];
        for (found, after) in texts.iter_mut().zip(rest) {
            let length = left.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\')?;
            let (text, behind) = left.split_at(length);
            *found = text;
            left = behind.strip_prefix(after.as_str())?;
        }
        left.is_empty().then_some(texts)
    }

    fn write(&self, texts: &[&str]) -> String {
        let length = self.written.iter().map(String::len).chain(texts.iter().map(|text| text.len())).sum();
        let mut json = String::with_capacity(length);
        for (at, between) in self.written.iter().enumerate() {
            json.push_str(between);
            json.push_str(texts.get(at).copied().unwrap_or_default());
        }
        json
    }
}

/// What stands before, between and after the texts.
fn around(json: &str, texts: &[JsonString<'_>]) -> Option<Vec<String>> {
    let (mut between, mut left, mut quote) = (Vec::with_capacity(texts.len() + 1), json, "");
    for text in texts {
        if json.matches(text.quoted()).count() != 1 {
            return None;
        }
        let (before, after) = left.split_once(text.quoted())?;
        between.push(format!("{quote}{before}\""));
        (left, quote) = (after, "\"");
    }
    between.push(format!("{quote}{left}"));
    Some(between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Object;

    const READ: &str = r#"{"n":1,"text":"one","pad":"xy"}"#;
    const WRITTEN: &str = r#"{"n":1,"t":"one","model":"own","pad":"xy"}"#;

    fn learned(read: &str, written: &str) -> Repeated {
        let object = Object::parse(read).unwrap();
        let texts: Vec<JsonString<'_>> =
            ["text", "pad"].iter().filter_map(|name| object.string(name)).collect();
        let mut repeated = Repeated::default();
        repeated.learn(read, &texts, written);
        repeated
    }

    #[test]
    fn other_texts_are_put_where_the_first_stood() {
        let mut repeated = learned(READ, WRITTEN);
        for (text, pad) in [("two", "z"), ("two", ""), ("t\u{fc}r, {x}", "one"), ("one", "one")] {
            let read = format!(r#"{{"n":1,"text":"{text}","pad":"{pad}"}}"#);
            let written = format!(r#"{{"n":1,"t":"{text}","model":"own","pad":"{pad}"}}"#);
            assert_eq!(repeated.write(&read), Some((written, text.len() as u64)));
        }
    }

    #[test]
    fn what_differs_elsewhere_or_is_no_plain_text_is_parsed() {
        let mut repeated = learned(READ, WRITTEN);
        for read in [
            r#"{"n":2,"text":"one","pad":"xy"}"#,
            r#"{"n":1,"text":"","pad":"xy"}"#,
            r#"{"n":1,"text":"one"}"#,
            r#"{"n":1,"text":"one","pad":"xy","more":0}"#,
            r#"{"n":1,"text":"one","text":"two","pad":"xy"}"#,
            r#"{"n":1,"text":"a"b","pad":"xy"}"#,
            r#"{"n":1,"text":"a\nb","pad":"xy"}"#,
            "{\"n\":1,\"text\":\"a\nb\",\"pad\":\"xy\"}",
            r#"{"n":1,"text":"a\","pad":"xy"}"#,
            r#"{"n":1,"text":null,"pad":"xy"}"#,
            r#"{"n":1,"text":"one","pad":"xy"#,
            r#"{"n":1,"text":"#,
            "",
        ] {
            assert_eq!(repeated.write(read), None, "{read}");
        }
        assert!(repeated.write(READ).is_some());
    }

    #[test]
    fn a_text_that_stands_twice_or_elsewhere_gives_no_template() {
        for (read, written) in [
            (r#"{"a":"one","text":"one"}"#, WRITTEN),
            (r#"{"text":"one","pad":"one"}"#, WRITTEN),
            (READ, r#"{"t":"one","u":"one","pad":"xy"}"#),
            (READ, r#"{"pad":"xy","t":"one"}"#),
            (READ, r#"{"t":"other","pad":"xy"}"#),
            (r#"{"text":"t"}"#, r#"{"t":"t"}"#),
        ] {
            assert_eq!(learned(read, written).write(read), None, "{read} {written}");
        }
    }

    #[test]
    fn events_that_never_repeat_are_not_learned_for_ever() {
        let mut repeated = Repeated::default();
        for number in 0..10 {
            let read = format!(r#"{{"n":{number},"text":"one"}}"#);
            let text = Object::parse(&read).unwrap().string("text").unwrap();
            assert_eq!(repeated.write(&read), None);
            repeated.learn(&read, &[text], &read);
            assert_eq!(
                repeated.template.as_ref().is_some_and(|kept| kept.texts(&read).is_some()),
                number < 4
            );
        }
    }
}
