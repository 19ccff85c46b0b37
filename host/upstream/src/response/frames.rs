//! The frames of a stream out of bytes that arrive in any pieces, by the framing that its caller names. Pure.
//!
//! Server-sent events are read in `sse`. Here are lines, of which the last needs no end, and the items of one JSON array: what
//! is outside of the items is white space, a comma or a bracket, and anything else begins an item, so that a body that is no
//! array comes out as a frame that its reader refuses. Where an object or an array stands in the place of the first event, the
//! objects are the frames: JSON by lines, an array of what would be events, or an answer that its server sends whole.

use gatehouse_model::{Framing, Sse};

use crate::response::sse::{Decoder, EventTooLarge, MARK, text};

/// Bytes in, frames out.
#[derive(Debug)]
pub(crate) enum Frames {
    Sse(Decoder),
    Lines(Pending),
    JsonArray(Items),
}

impl Frames {
    /// One frame may have `limit` bytes.
    pub(crate) fn new(framing: Framing, limit: usize) -> Self {
        match framing {
            // One body is no stream; a provider that sends one all the same sends events.
            Framing::Sse | Framing::Whole => Self::Sse(Decoder::new(limit)),
            Framing::Lines => Self::Lines(Pending::new(limit)),
            Framing::JsonArray => Self::JsonArray(Items::new(limit)),
        }
    }

    /// Takes the next bytes and appends the frames they complete.
    ///
    /// # Errors
    /// The frame under way is too large; nothing comes after it.
    pub(crate) fn feed(&mut self, bytes: &[u8], frames: &mut Vec<Sse>) -> Result<(), EventTooLarge> {
        match self {
            Self::Sse(decoder) => match decoder.objects(bytes) {
                Some(limit) => {
                    // The mark and the bracket before it may have come in another piece.
                    let bytes = memchr::memchr(b'{', bytes).map_or(bytes, |at| &bytes[at..]);
                    *self = Self::JsonArray(Items { begun: true, ..Items::new(limit) });
                    self.feed(bytes, frames)
                }
                None => decoder.feed(bytes, frames),
            },
            Self::Lines(line) => line.feed_lines(bytes, frames),
            Self::JsonArray(items) => items.feed(bytes, frames),
        }
    }

    /// The stream has ended: a line, and an event whose data is whole, may lack their end. An item that does is lost.
    pub(crate) fn end(&mut self, frames: &mut Vec<Sse>) {
        match self {
            Self::Sse(decoder) => decoder.finish(frames),
            Self::Lines(line) => line.complete(frames),
            Self::JsonArray(_) => {}
        }
    }
}

/// The frame under way.
#[derive(Debug)]
pub(crate) struct Pending {
    bytes: Vec<u8>,
    limit: usize,
}

impl Pending {
    fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit }
    }

    fn grow(&mut self, more: &[u8]) -> Result<(), EventTooLarge> {
        if self.bytes.len() + more.len() > self.limit {
            return Err(EventTooLarge(self.limit));
        }
        self.bytes.extend_from_slice(more);
        Ok(())
    }

    /// Hands out the frame, unless it is blank.
    fn complete(&mut self, frames: &mut Vec<Sse>) {
        let bytes = std::mem::take(&mut self.bytes);
        let bytes = bytes.strip_prefix(MARK).unwrap_or(&bytes).trim_ascii();
        if !bytes.is_empty() {
            frames.push(Sse { event: None, data: text(bytes) });
        }
    }

    /// Takes the next bytes, where each line is a frame.
    fn feed_lines(&mut self, mut bytes: &[u8], frames: &mut Vec<Sse>) -> Result<(), EventTooLarge> {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.grow(&bytes[..end])?;
            self.complete(frames);
            bytes = &bytes[end + 1..];
        }
        self.grow(bytes)
    }
}

/// The items of a JSON array.
#[derive(Debug)]
pub(crate) struct Items {
    item: Pending,
    /// Brackets and braces that are open within the item.
    depth: usize,
    in_string: bool,
    /// The last byte of a string was a backslash.
    escaped: bool,
    /// The array's own bracket has come, or something else in its place.
    begun: bool,
}

impl Items {
    fn new(limit: usize) -> Self {
        Self { item: Pending::new(limit), depth: 0, in_string: false, escaped: false, begun: false }
    }

    fn feed(&mut self, bytes: &[u8], frames: &mut Vec<Sse>) -> Result<(), EventTooLarge> {
        // Where the part of the item begins that is in these bytes.
        let mut from = 0;
        for (at, byte) in bytes.iter().enumerate() {
            if self.in_string {
                self.in_string = self.escaped || *byte != b'"';
                self.escaped = !self.escaped && *byte == b'\\';
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'[' if !self.begun => {
                    self.begun = true;
                    self.item.bytes.clear();
                    from = at + 1;
                }
                b'[' | b'{' => {
                    self.begun = true;
                    self.depth += 1;
                }
                b',' | b']' if self.depth == 0 => {
                    self.item.grow(&bytes[from..at])?;
                    self.item.complete(frames);
                    from = at + 1;
                }
                b']' | b'}' => {
                    self.depth = self.depth.saturating_sub(1);
                    // Handed out as soon as it is whole: the comma comes with the next item.
                    if self.depth == 0 {
                        self.item.grow(&bytes[from..=at])?;
                        self.item.complete(frames);
                        from = at + 1;
                    }
                }
                _ => {}
            }
        }
        self.item.grow(&bytes[from..])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode<'a>(framing: Framing, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let (mut decoder, mut frames) = (Frames::new(framing, 1 << 20), vec![]);
        for piece in pieces {
            decoder.feed(piece, &mut frames).expect("small frames");
        }
        decoder.end(&mut frames);
        assert!(frames.iter().all(|frame| frame.event.is_none()));
        frames.into_iter().map(|frame| frame.data).collect()
    }

    /// Without it the first or the last words of an answer are lost, or two frames come as one.
    #[test]
    fn each_framing_finds_its_frames_however_the_bytes_are_cut() {
        for (framing, text, expected) in [
            (
                Framing::Lines,
                "{\"a\":1}\n\r\n  {\"b\":2}\r\n{\"c\":3}",
                vec!["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"],
            ),
            (Framing::Lines, "\n\n", vec![]),
            (
                Framing::JsonArray,
                "[{\"a\":\"]},[\\\"{\"}\n,\r\n{\"b\":[1,{}]}\n]\n",
                vec!["{\"a\":\"]},[\\\"{\"}", "{\"b\":[1,{}]}"],
            ),
            (Framing::JsonArray, "[1, \"two\" ,[3]]", vec!["1", "\"two\"", "[3]"]),
            (Framing::JsonArray, "[]", vec![]),
            (Framing::JsonArray, "{\"error\":{}}", vec!["{\"error\":{}}"]),
            (Framing::Sse, "data: a\n\ndata: b\n\n", vec!["a", "b"]),
            (Framing::Sse, "[PING]\n\ndata: {\"a\":1}\n\n", vec!["{\"a\":1}"]),
            (Framing::Sse, "\u{feff}\n[{\"a\":[1]}\n,\r\n{\"b\":1}]\n", vec!["{\"a\":[1]}", "{\"b\":1}"]),
            (
                Framing::Sse,
                "\n{\"a\":1}\n{\"b\":[{}]}\n\ndata: [DONE]\n\n",
                vec!["{\"a\":1}", "{\"b\":[{}]}", "data: [DONE]"],
            ),
            (Framing::Sse, "\u{feff}{\n  \"a\": \"}\\n\\n\"\n}", vec!["{\n  \"a\": \"}\\n\\n\"\n}"]),
            (Framing::Lines, "\u{feff}{\"a\":1}\n", vec!["{\"a\":1}"]),
            (Framing::JsonArray, "\u{feff}[{\"a\":1}]", vec!["{\"a\":1}"]),
            (Framing::JsonArray, "\u{feff}{\"error\":{}}", vec!["{\"error\":{}}"]),
        ] {
            assert_eq!(decode(framing, text.as_bytes().chunks(1)), expected, "byte by byte: {text}");
            for at in 0..text.len() {
                let (first, second) = text.as_bytes().split_at(at);
                assert_eq!(decode(framing, [first, second]), expected, "cut at {at}: {text}");
            }
        }
    }

    #[test]
    fn a_frame_has_a_limit_and_a_stream_has_none() {
        for framing in [Framing::Lines, Framing::JsonArray] {
            let (mut decoder, mut frames) = (Frames::new(framing, 20), vec![]);
            decoder.feed(b"[", &mut frames).expect("room");
            for _ in 0..9 {
                decoder.feed(b"{\"a\":123456789},\n", &mut frames).expect("room");
            }
            assert_eq!(frames.len(), 9, "{framing:?}");
            assert_eq!(decoder.feed(&[b'"'; 21], &mut frames), Err(EventTooLarge(20)), "{framing:?}");
        }
    }

    proptest! {
        /// Nothing that a provider sends makes it panic, and pieces make no difference.
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0_usize..200) {
            let (first, second) = bytes.split_at(at.min(bytes.len()));
            for framing in [Framing::Lines, Framing::JsonArray] {
                prop_assert_eq!(decode(framing, [first, second]), decode(framing, [bytes.as_slice()]));
            }
        }
    }
}
