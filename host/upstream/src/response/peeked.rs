//! A body whose first bytes are looked at before it is read: servers send events under any media type, or under none, so
//! that an answer is known by how it begins. Nothing is taken out of it.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Instant;

use crate::response::decoded::Decoded;
use crate::response::reply::{BodyError, next};

/// The fields of an event, as a line begins with them.
const FIELDS: [&[u8]; 4] = [b"data:", b"event:", b"id:", b"retry:"];
/// White space that may come before the first line.
const MAX_BLANK: usize = 1 << 10;

/// The body of an answer.
#[derive(Debug)]
pub struct Peeked<B = Decoded> {
    first: Bytes,
    rest: B,
}

impl Peeked {
    /// A body that nobody has looked at.
    pub(crate) fn new(rest: Decoded) -> Self {
        Self { first: Bytes::new(), rest }
    }

    /// Whether the body begins as events do; `is_lines` where an object begins a stream of lines.
    ///
    /// # Errors
    /// The body broke, or did not begin in time.
    pub(crate) async fn is_stream(&mut self, is_lines: bool, deadline: Instant) -> Result<bool, BodyError> {
        loop {
            if let Some(is_stream) = begins_stream(&self.first, is_lines) {
                return Ok(is_stream);
            }
            let Some(piece) = next(&mut self.rest, deadline).await? else { return Ok(false) };
            if self.first.is_empty() {
                self.first = piece;
            } else {
                let mut joined = BytesMut::from(&*self.first);
                joined.extend_from_slice(&piece);
                self.first = joined.freeze();
            }
        }
    }
}

/// `None` where more bytes must come first.
fn begins_stream(bytes: &[u8], is_lines: bool) -> Option<bool> {
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).trim_ascii_start();
    match text.first() {
        None => (bytes.len() > MAX_BLANK).then_some(false),
        Some(b':') => Some(true),
        Some(b'{') => Some(is_lines),
        Some(_) if FIELDS.iter().any(|field| text.starts_with(field)) => Some(true),
        Some(_) if FIELDS.iter().any(|field| field.starts_with(text)) => None,
        // Part of a byte order mark.
        Some(0xef) if text.len() < 3 => None,
        Some(_) => Some(false),
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Peeked<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.first.is_empty() {
            return Pin::new(&mut self.rest).poll_frame(cx);
        }
        Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.first)))))
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.rest.size_hint();
        let first = self.first.len() as u64;
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(first));
        }
        hint.set_lower(hint.lower().saturating_add(first));
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it the whole stream of a server that labels it as a text is an unreadable answer, and a page or an object is one
    /// of nothing.
    #[test]
    fn a_stream_is_known_by_how_it_begins() {
        for (text, expected) in [
            ("data: {}\n\n", Some(true)),
            ("\u{feff}data:{}", Some(true)),
            ("\r\n\r\nevent: a", Some(true)),
            (": ping\n", Some(true)),
            ("id: 1\n", Some(true)),
            ("retry: 10\n", Some(true)),
            ("dat", None),
            ("", None),
            (" \n", None),
            ("database", Some(false)),
            ("{\"id\":1}\n", Some(false)),
            ("<html>", Some(false)),
            ("[", Some(false)),
        ] {
            assert_eq!(begins_stream(text.as_bytes(), false), expected, "{text:?}");
        }
        assert_eq!(begins_stream(b"{\"id\":1}\n", true), Some(true));
        assert_eq!(begins_stream(&[0xef, 0xbb], false), None);
        assert_eq!(begins_stream(&[b' '; MAX_BLANK + 1], false), Some(false));
    }
}
