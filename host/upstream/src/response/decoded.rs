//! The body of an answer as its reader takes it: without the compression that its server put on it unasked, and with its first
//! bytes looked at.
//!
//! Calls say `Accept-Encoding: identity`, and what stands before some servers compresses all the same. Compressed, an answer could
//! be neither read nor searched for secrets. A little is decoded at a time, however much it becomes: its reader counts the bytes.
//! Servers send events under any media type, or under none, so that an answer is known by how it begins. Nothing is taken out.

use std::io::{self, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use flate2::write::MultiGzDecoder;
use http::Response;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::Instant;

use crate::response::reply::{BodyError, next};

/// Compressed bytes that are decoded at once; they become a megabyte at most.
const PART: usize = 1024;

/// The first byte of every gzip, and of no text.
const MAGIC: u8 = 0x1f;

/// A body as it was before its server compressed it.
#[derive(Debug)]
pub struct Decoded<B = Incoming> {
    body: B,
    gzip: Option<Box<Gzip>>,
}

#[derive(Debug)]
struct Gzip {
    decoder: MultiGzDecoder<Vec<u8>>,
    /// What has come and is not decoded yet.
    given: Bytes,
    has_begun: bool,
    /// The body is not compressed: some servers between decode it and pass on the header.
    is_plain: bool,
    is_over: bool,
}

/// Why there is no next piece.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError<E: std::error::Error + 'static> {
    #[error(transparent)]
    Body(E),
    #[error("the answer is no whole gzip, although its `Content-Encoding` says so")]
    Damaged(#[source] io::Error),
}

impl<B> Decoded<B> {
    /// The answer, its headers those of the body as it is read.
    pub(crate) fn of(answer: Response<B>) -> Response<Self> {
        let (mut head, body) = answer.into_parts();
        let encoding = head.headers.get(CONTENT_ENCODING).map(|name| name.as_bytes().trim_ascii());
        let is = |known: &str| encoding.is_some_and(|name| name.eq_ignore_ascii_case(known.as_bytes()));
        let gzip = (is("gzip") || is("x-gzip")).then(|| {
            let decoder = MultiGzDecoder::new(Vec::new());
            Box::new(Gzip { decoder, given: Bytes::new(), has_begun: false, is_plain: false, is_over: false })
        });
        if gzip.is_some() {
            head.headers.remove(CONTENT_ENCODING);
            head.headers.remove(CONTENT_LENGTH);
        }
        Response::from_parts(head, Self { body, gzip })
    }
}

impl Gzip {
    /// The next bytes of what has come; `None` where more must come first.
    fn next(&mut self) -> io::Result<Option<Bytes>> {
        while let Some(first) = self.given.first() {
            self.is_plain |= !self.has_begun && *first != MAGIC;
            self.has_begun = true;
            if self.is_plain {
                return Ok(Some(std::mem::take(&mut self.given)));
            }
            let part = self.given.split_to(self.given.len().min(PART));
            self.decoder.write_all(&part)?;
            // What a server has flushed is for the client now.
            self.decoder.flush()?;
            if let Some(bytes) = self.taken() {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    fn end(&mut self) -> io::Result<Option<Bytes>> {
        self.is_over = true;
        if self.has_begun && !self.is_plain {
            self.decoder.try_finish()?;
        }
        Ok(self.taken())
    }

    fn taken(&mut self) -> Option<Bytes> {
        let bytes = std::mem::take(self.decoder.get_mut());
        (!bytes.is_empty()).then(|| bytes.into())
    }
}

impl<B: Body<Data = Bytes, Error: std::error::Error + 'static> + Unpin> Body for Decoded<B> {
    type Data = Bytes;
    type Error = DecodeError<B::Error>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Self { body, gzip } = &mut *self;
        let mut body = Pin::new(body);
        let Some(gzip) = gzip else {
            return body.poll_frame(cx).map_err(DecodeError::Body);
        };
        let data = |decoded: io::Result<Option<Bytes>>| {
            decoded.map_err(DecodeError::Damaged).transpose().map(|bytes| bytes.map(Frame::data))
        };
        loop {
            if let Some(next) = data(gzip.next()) {
                return Poll::Ready(Some(next));
            }
            match ready!(body.as_mut().poll_frame(cx)) {
                None if gzip.is_over => return Poll::Ready(None),
                None => return Poll::Ready(data(gzip.end())),
                Some(Err(error)) => return Poll::Ready(Some(Err(DecodeError::Body(error)))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(given) => gzip.given = given,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        if self.gzip.is_some() { SizeHint::default() } else { self.body.size_hint() }
    }
}

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
        // A list of what would be events; words in brackets are no list.
        Some(b'[') => match text[1..].trim_ascii_start().first() {
            None => (bytes.len() > MAX_BLANK).then_some(false),
            next => Some(next == Some(&b'{')),
        },
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
    use std::convert::Infallible;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use futures_util::stream;
    use http_body_util::{BodyExt as _, StreamBody};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = GzEncoder::new(Vec::new(), Compression::default());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    /// The pieces of an answer in that encoding that comes in those pieces, and whether it ended in order.
    async fn read(encoding: &str, pieces: Vec<Vec<u8>>) -> (Vec<Bytes>, bool) {
        let frames = pieces.into_iter().map(|piece| Ok::<_, Infallible>(Frame::data(Bytes::from(piece))));
        let answer = Response::builder().header(CONTENT_ENCODING, encoding).header(CONTENT_LENGTH, 7);
        let answer = Decoded::of(answer.body(StreamBody::new(stream::iter(frames))).unwrap());
        let is_plain = answer.headers().contains_key(CONTENT_LENGTH);
        assert_eq!(is_plain, answer.headers().contains_key(CONTENT_ENCODING), "{encoding}");
        let (mut body, mut all) = (answer.into_body(), vec![]);
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => all.extend(frame.into_data()),
                Err(_) => return (all, false),
            }
        }
        (all, true)
    }

    /// Without it every answer of a provider behind a proxy that compresses is unreadable.
    #[tokio::test]
    async fn what_is_compressed_is_read_however_it_is_cut() {
        let text = b"data: {\"a\": 1}\n\n".repeat(500);
        let bytes = gzip(&text);
        for (encoding, bytes) in
            [("gzip", bytes.clone()), (" X-GZip ", [gzip(&text[..7]), gzip(&text[7..])].concat())]
        {
            for size in [1, 10, bytes.len()] {
                let pieces = bytes.chunks(size).map(<[u8]>::to_vec).collect();
                let (all, is_whole) = read(encoding, pieces).await;
                assert_eq!((all.concat(), is_whole), (text.clone(), true), "{encoding} {size}");
            }
        }
        for encoding in ["identity", "br"] {
            assert_eq!(read(encoding, vec![text.clone()]).await, (vec![text.clone().into()], true));
        }
        assert_eq!(read("gzip", vec![]).await, (vec![], true), "an empty body");
        for size in [1, text.len()] {
            let pieces = text.chunks(size).map(<[u8]>::to_vec).collect();
            let (all, is_whole) = read("gzip", pieces).await;
            assert_eq!(
                (all.concat(), is_whole),
                (text.clone(), true),
                "a header of what was decoded on the way"
            );
        }
        for broken in [b"\x1f no gzip".to_vec(), bytes[..bytes.len() - 9].to_vec()] {
            assert!(!read("gzip", vec![broken]).await.1);
        }
    }

    /// Without it an event waits for the next one, or a small answer becomes all the memory there is at once.
    #[tokio::test]
    async fn what_was_flushed_comes_at_once_and_little_at_a_time() {
        let mut out = GzEncoder::new(Vec::new(), Compression::default());
        let mut pieces = vec![];
        for event in ["one", "two"] {
            out.write_all(event.as_bytes()).unwrap();
            out.flush().unwrap();
            pieces.push(std::mem::take(out.get_mut()));
        }
        pieces.push(out.finish().unwrap());
        assert_eq!(read("gzip", pieces).await, (vec!["one".into(), "two".into()], true));
        let (all, is_whole) = read("gzip", vec![gzip(&vec![0; 64 << 20])]).await;
        assert!(is_whole && all.iter().all(|piece| piece.len() <= 2 << 20));
        assert_eq!(all.iter().map(Bytes::len).sum::<usize>(), 64 << 20);
    }

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
            ("[", None),
            ("[\r\n {", Some(true)),
            ("[[", Some(false)),
            ("[ERROR]", Some(false)),
        ] {
            assert_eq!(begins_stream(text.as_bytes(), false), expected, "{text:?}");
        }
        assert_eq!(begins_stream(b"{\"id\":1}\n", true), Some(true));
        assert_eq!(begins_stream(&[0xef, 0xbb], false), None);
        assert_eq!(begins_stream(&[b' '; MAX_BLANK + 1], false), Some(false));
    }
}
