//! Server-sent events out of bytes that arrive in any pieces. Pure.
//!
//! Follows the WHATWG parsing rules but for `id` and `retry`, which are unused here: any line end, a byte
//! order mark at the start, comments skipped, data lines joined by line feeds, an event without data
//! dropped. The last event needs no blank line after it where it is whole by itself: some servers end their stream without
//! one, and it has the reason or the token counts. Some write no blank lines at all: where the data is an object already and
//! the next line begins one, or says that all is done, it is another event. An object without a field's name is data, and so are
//! the further lines of one that has it. White space around a field's name and the case of its letters do not count.

use gatehouse_model::Sse;

/// An event grew beyond what is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {0} bytes")]
pub(crate) struct EventTooLarge(pub(crate) usize);

/// Bytes in, events out.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// The line under way.
    line: Vec<u8>,
    /// The last byte was a carriage return: a line feed right after it ends no second line.
    after_return: bool,
    /// Nothing but white space has come, and one bracket.
    is_blank: bool,
    in_brackets: bool,
    name: Option<String>,
    data: Option<String>,
    /// The lines of the data under way are one value.
    is_joined: bool,
    limit: usize,
}

pub(crate) const MARK: &[u8] = "\u{feff}".as_bytes();

impl Decoder {
    /// Lines and data of one event may have `limit` bytes together.
    pub(crate) fn new(limit: usize) -> Self {
        let (line, name, data) = (vec![], None, None);
        let (after_return, is_blank, in_brackets, is_joined) = (false, true, false, false);
        Self { line, after_return, is_blank, in_brackets, name, data, is_joined, limit }
    }

    /// The limit of an object, where these bytes begin one, or a list of them, and nothing came before it.
    pub(crate) fn objects(&mut self, bytes: &[u8]) -> Option<usize> {
        if !self.is_blank {
            return None;
        }
        let mut said = bytes.iter().filter(|byte| !byte.is_ascii_whitespace() && !MARK.contains(byte));
        let mut first = said.next();
        // A word in brackets is no list.
        if first == Some(&b'[') && !self.in_brackets {
            self.in_brackets = true;
            first = said.next();
        }
        self.is_blank = first.is_none();
        (first == Some(&b'{')).then_some(self.limit)
    }

    /// Takes the next bytes and appends the events they complete.
    ///
    /// # Errors
    /// The event under way is too large; the decoder is of no use then.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], events: &mut Vec<Sse>) -> Result<(), EventTooLarge> {
        if self.after_return && !bytes.is_empty() {
            self.after_return = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\r', b'\n', bytes) {
            let line = &bytes[..end];
            let is_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if is_return {
                self.after_return = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            self.grow(line.len())?;
            if self.line.is_empty() {
                self.take(line, events);
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.take(&whole, events);
            }
        }
        self.grow(bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// The body has ended in order: appends the event under way, if its data is whole.
    pub(crate) fn finish(&mut self, events: &mut Vec<Sse>) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take(&line, events);
        }
        let is_whole = |data: &String| data.trim_end().ends_with(['}', ']']);
        let name = self.name.take();
        events.extend(self.data.take().filter(is_whole).map(|data| Sse { event: name, data }));
    }

    fn grow(&self, more: usize) -> Result<(), EventTooLarge> {
        let held = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if held + more > self.limit { Err(EventTooLarge(self.limit)) } else { Ok(()) }
    }

    /// One line, its end taken off.
    fn take(&mut self, line: &[u8], events: &mut Vec<Sse>) {
        // Servers between may join streams that each begin with one.
        let line = line.strip_prefix(MARK).unwrap_or(line);
        let indented = line.trim_ascii_start();
        if indented.is_empty() {
            self.hand_out(events);
            return;
        }
        let (field, value) = match memchr::memchr(b':', indented) {
            // An object, of a server that forgot the name.
            _ if indented[0] == b'{' => (&b"data"[..], indented),
            Some(colon) => (indented[..colon].trim_ascii_end(), &indented[colon + 1..]),
            None => (indented, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if field.eq_ignore_ascii_case(b"data") {
            self.add(value, events);
        } else if field.eq_ignore_ascii_case(b"event") {
            // The name of this event may come behind its data.
            if self.name.is_some() && self.is_complete() {
                self.hand_out(events);
            }
            self.name = Some(text(value.trim_ascii())).filter(|name| !name.is_empty());
        } else if matches!(indented[0], b'"' | b'[' | b']' | b'}')
            && self.data.as_deref().is_some_and(|data| data.starts_with('{'))
        {
            // Only the first line of the object has the name.
            self.add(line, events);
        }
    }

    /// Whether the data of one line is an object, so that what comes is another event. It is looked at once.
    fn is_complete(&mut self) -> bool {
        let is_complete = !self.is_joined && self.data.as_deref().is_some_and(is_object);
        self.is_joined |= !is_complete;
        is_complete
    }

    /// The event under way is complete.
    fn hand_out(&mut self, events: &mut Vec<Sse>) {
        let name = self.name.take();
        events.extend(self.data.take().map(|data| Sse { event: name, data }));
    }

    /// One line of data.
    fn add(&mut self, value: &[u8], events: &mut Vec<Sse>) {
        if self.data.is_some() {
            let is_other = value.starts_with(b"{") || value.trim_ascii() == b"[DONE]";
            if is_other && self.is_complete() {
                self.hand_out(events);
            }
            self.is_joined = true;
        }
        match &mut self.data {
            Some(data) => {
                data.push('\n');
                data.push_str(&text(value));
            }
            None => {
                self.is_joined = false;
                self.data = Some(text(value));
            }
        }
    }
}

/// Whether a text is an object to its end.
fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// A whole line is whole characters; invalid UTF-8 becomes U+FFFD.
pub(crate) fn text(bytes: &[u8]) -> String {
    // Valid text, the usual case, is checked several times faster than it is searched for what is not.
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<(Option<String>, String)> {
        let mut decoder = Decoder::new(1 << 20);
        let mut events = vec![];
        for piece in pieces {
            decoder.feed(piece, &mut events).unwrap();
        }
        events.into_iter().map(|event| (event.event, event.data)).collect()
    }

    fn check(text: &str, expected: &[(&str, &str)]) {
        let expected: Vec<(Option<String>, String)> = expected
            .iter()
            .map(|(name, data)| ((!name.is_empty()).then(|| (*name).to_owned()), (*data).to_owned()))
            .collect();
        assert_eq!(decode([text.as_bytes()]), expected, "{text:?}");
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(decode(bytes), expected, "byte by byte: {text:?}");
    }

    #[test]
    fn events_are_read_as_browsers_read_them() {
        check("data: a\n\n", &[("", "a")]);
        check("data:a\r\n\r\n", &[("", "a")]);
        check("data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]);
        check("\u{feff}data: a\n\n", &[("", "a")]);
        check("event: x\ndata:  two\ndata\ndata: b\n\n", &[("x", " two\n\nb")]);
        check(": comment\n\nid: 7\nretry: 1\ndata: a\n\n", &[("", "a")]);
        check("event: alone\n\ndata: a\n\n", &[("", "a")]);
        check("data\n\n", &[("", "")]);
        check("data: cut", &[]);
        check("data: cut\n", &[]);
        check("database: no\nevent:\ndata: \u{e9}\u{1f600}\n\n", &[("", "\u{e9}\u{1f600}")]);
        check("\n\n\r\n", &[]);
    }

    /// Without it all events of a server that writes no blank lines are one that nobody can read, and its errors, which have no
    /// field's name, are lost.
    #[test]
    fn events_of_careless_servers_are_read() {
        check(
            "data: {\"a\":1}\ndata: {\"b\":2}\ndata: [DONE]\n\n",
            &[("", "{\"a\":1}"), ("", "{\"b\":2}"), ("", "[DONE]")],
        );
        check("event: x\ndata: {}\nevent: y\ndata: {}\n\n", &[("x", "{}"), ("y", "{}")]);
        check("  data: {}\n \n\tData : []\n\nDATA:a\r \r", &[("", "{}"), ("", "[]"), ("", "a")]);
        check("Event: x \n data:a\n\n\u{feff}data: b\n\n", &[("x", "a"), ("", "b")]);
        check(" : comment\ndata: a\n : comment\nID: 1\nx\n\n", &[("", "a")]);
        check("data: {\n  \"a\": [\n    \"b\"\n  ]\n}\n\n", &[("", "{\n  \"a\": [\n    \"b\"\n  ]\n}")]);
        check("data: {\n  \"a\":\n  {}\n}\nx: 1\n\n", &[("", "{\n  \"a\":\n{}\n}")]);
        check("data: {}\nx: {\n\n", &[("", "{}")]);
        check("  {\"a\":1}\n  {\"b\":1}\n\n", &[("", "{\"a\":1}"), ("", "{\"b\":1}")]);
        check("data: {\ndata: \"a\": [\ndata: {}\ndata: ]}\n\n", &[("", "{\n\"a\": [\n{}\n]}")]);
        check(
            "data: {\"a\":1}\n\n{\"error\":{\"a:b\":1}}\n\n",
            &[("", "{\"a\":1}"), ("", "{\"error\":{\"a:b\":1}}")],
        );
    }

    /// Without it the reason or the token counts of a stream are lost where a server saves the last blank line.
    #[test]
    fn the_last_event_may_lack_its_blank_line() {
        for (text, expected) in [
            ("data: {}", Some("{}")),
            ("data: {}\n", Some("{}")),
            ("data: [DONE]\r\n", Some("[DONE]")),
            ("data: {}\n\n", None),
            ("data: {\"cut", None),
            ("event: x\n", None),
            (": comment", None),
        ] {
            let mut decoder = Decoder::new(1 << 20);
            decoder.feed(text.as_bytes(), &mut vec![]).unwrap();
            let mut last = vec![];
            decoder.finish(&mut last);
            assert_eq!(last.first().map(|event| event.data.as_str()), expected, "{text:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_do_not_end_it() {
        assert_eq!(decode([&b"data: a\xffb\n\n"[..]]), [(None, "a\u{fffd}b".to_owned())]);
    }

    #[test]
    fn an_event_has_a_limit_and_a_stream_has_none() {
        let mut decoder = Decoder::new(20);
        let mut events = vec![];
        for _ in 0..10 {
            decoder.feed(b"data: 0123456789\n\n", &mut events).unwrap();
        }
        assert_eq!(events.len(), 10);
        assert_eq!(decoder.feed(b"data: 0123456789\n: 0123456789\n", &mut events), Err(EventTooLarge(20)));
        let mut decoder = Decoder::new(20);
        assert!(decoder.feed(&[b'x'; 20], &mut events).is_ok());
        assert!(decoder.feed(b"x", &mut events).is_err());
    }

    proptest! {
        /// However the bytes are cut, the same events come out; nothing makes it panic.
        #[test]
        fn any_split_gives_the_same(
            lines in proptest::collection::vec("(data|event|: x|id)?:? ?[a\u{e9}\u{1f600}:]{0,4}", 0..12),
            ends in proptest::collection::vec(0_usize..3, 12),
            cuts in proptest::collection::vec(0_usize..200, 0..20),
        ) {
            let text: String =
                lines.iter().zip(ends).map(|(line, end)| format!("{line}{}", ["\n", "\r\n", "\r"][end])).collect();
            let bytes = format!("{text}\n\ndata: end\n\n").into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(decode(pieces), decode([bytes.as_slice()]));
        }
    }
}
