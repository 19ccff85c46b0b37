//! The body of an answer as its reader takes it: without the compression that its server put on it unasked, and with its first
//! bytes looked at.
//!
//! Calls say `Accept-Encoding: identity`, and what stands before some servers compresses all the same: as gzip, zlib or zstd.
//! Compressed, an answer could be neither read nor searched for secrets. A little is decoded at a time, however much it becomes: its
//! reader counts the bytes.
//! Servers send events under any media type, or under none, so that an answer is known by how it begins. Nothing is taken out.

use std::io::{self, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use flate2::write::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use http::Response;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::Instant;
use zstd::stream::{raw, zio};
use zstd::zstd_safe::DParameter;

use crate::response::reply::{BodyError, next};

/// Compressed bytes that are decoded at once; gzip makes a megabyte of them at most, zstd may make more.
const PART: usize = 1024;
/// The largest window of a zstd frame, as a power of two: 8 MiB, which RFC 9659 sets for HTTP. It is memory that a frame asks for.
const WINDOW_LOG: u32 = 23;

/// Compressions of which no library is here.
const CLOSED: [&str; 2] = ["br", "compress"];

/// The first byte of every gzip, of a zlib of the usual window, and of every zstd; no JSON, page or event begins with one.
const GZIP: u8 = 0x1f;
const ZLIB: u8 = 0x78;
const ZSTD: u8 = 0x28;

/// A body as it was before its server compressed it.
pub struct Decoded<B = Incoming> {
    body: B,
    unpacking: Option<Box<Unpacking>>,
    /// It is labelled as compressed in a way that is not decoded here, and nothing of it has come.
    is_closed: bool,
}

struct Unpacking {
    decoder: Decoder,
    /// The first byte of what is compressed.
    magic: u8,
    /// What has come and is not decoded yet.
    given: Bytes,
    has_begun: bool,
    /// The body is not compressed: some servers between decode it and pass on the header.
    is_plain: bool,
    is_over: bool,
}

enum Decoder {
    Gzip(MultiGzDecoder<Vec<u8>>),
    Zlib(Zlib),
    Zstd(zio::Writer<Vec<u8>, raw::Decoder<'static>>),
}

/// One zlib stream. The library's own writer does not tell one that is cut short from a whole one.
struct Zlib {
    inflate: Decompress,
    decoded: Vec<u8>,
    is_whole: bool,
}

impl Zlib {
    /// Some servers leave the head of a zlib out.
    fn new(has_head: bool) -> Self {
        Self { inflate: Decompress::new(has_head), decoded: Vec::new(), is_whole: false }
    }

    /// Decodes a part; what stands behind the end is nothing.
    fn push(&mut self, mut part: &[u8]) -> io::Result<()> {
        while !self.is_whole {
            self.decoded.reserve(PART);
            let before = self.inflate.total_in();
            let status = self.inflate.decompress_vec(part, &mut self.decoded, FlushDecompress::None)?;
            let read = usize::try_from(self.inflate.total_in() - before).unwrap_or(part.len());
            part = &part[read..];
            self.is_whole = status == Status::StreamEnd;
            // Room that is left over was not needed.
            if part.is_empty() && self.decoded.len() < self.decoded.capacity() {
                break;
            }
        }
        Ok(())
    }
}

/// Why there is no next piece.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError<E: std::error::Error + 'static> {
    #[error(transparent)]
    Body(E),
    #[error(
        "the answer is compressed as its `Content-Encoding` says, which was not asked for and is not decoded here"
    )]
    Closed,
    #[error("the answer is damaged or cut short, by the encoding that its `Content-Encoding` names")]
    Damaged(#[source] io::Error),
}

impl<B> Decoded<B> {
    /// The answer, its headers those of the body as it is read.
    pub(crate) fn of(answer: Response<B>) -> Response<Self> {
        let (mut head, body) = answer.into_parts();
        let encoding = head.headers.get(CONTENT_ENCODING).map(|name| name.as_bytes().trim_ascii());
        let is = |known: &str| encoding.is_some_and(|name| name.eq_ignore_ascii_case(known.as_bytes()));
        let is_closed = CLOSED.iter().any(|name| is(name));
        let decoder = if is("gzip") || is("x-gzip") {
            Some((GZIP, Decoder::Gzip(MultiGzDecoder::new(Vec::new()))))
        } else if is("deflate") {
            Some((ZLIB, Decoder::Zlib(Zlib::new(true))))
        } else if is("zstd") {
            Decoder::zstd().ok().map(|decoder| (ZSTD, decoder))
        } else {
            None
        };
        let unpacking = decoder.map(|(magic, decoder)| {
            let (given, has_begun, is_plain, is_over) = (Bytes::new(), false, false, false);
            Box::new(Unpacking { decoder, magic, given, has_begun, is_plain, is_over })
        });
        if unpacking.is_some() {
            head.headers.remove(CONTENT_ENCODING);
            head.headers.remove(CONTENT_LENGTH);
        }
        Response::from_parts(head, Self { body, unpacking, is_closed })
    }
}

impl Decoder {
    fn zstd() -> io::Result<Self> {
        let mut decoder = raw::Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG))?;
        Ok(Self::Zstd(zio::Writer::new(Vec::new(), decoder)))
    }

    /// Decodes a part. What its server has flushed is for the client now.
    fn push(&mut self, part: &[u8]) -> io::Result<()> {
        match self {
            Self::Gzip(decoder) => decoder.write_all(part).and_then(|()| decoder.flush()),
            Self::Zlib(zlib) => zlib.push(part),
            Self::Zstd(decoder) => decoder.write_all(part).and_then(|()| decoder.flush()),
        }
    }

    /// The end of the body.
    ///
    /// # Errors
    /// It is cut short.
    fn end(&mut self) -> io::Result<()> {
        match self {
            Self::Gzip(decoder) => decoder.try_finish(),
            Self::Zlib(zlib) if zlib.is_whole => Ok(()),
            Self::Zlib(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            Self::Zstd(decoder) => decoder.finish(),
        }
    }

    fn taken(&mut self) -> Option<Bytes> {
        let bytes = std::mem::take(match self {
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Zlib(zlib) => &mut zlib.decoded,
            Self::Zstd(decoder) => decoder.writer_mut(),
        });
        (!bytes.is_empty()).then(|| bytes.into())
    }
}

impl Unpacking {
    /// The next bytes of what has come; `None` where more must come first.
    fn next(&mut self) -> io::Result<Option<Bytes>> {
        while let Some(first) = self.given.first() {
            if !self.has_begun && *first != self.magic {
                match &mut self.decoder {
                    Decoder::Zlib(zlib) if !is_plain(&self.given) => *zlib = Zlib::new(false),
                    _ => self.is_plain = true,
                }
            }
            self.has_begun = true;
            if self.is_plain {
                return Ok(Some(std::mem::take(&mut self.given)));
            }
            let part = self.given.split_to(self.given.len().min(PART));
            self.decoder.push(&part)?;
            if let Some(bytes) = self.decoder.taken() {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    fn end(&mut self) -> io::Result<Option<Bytes>> {
        self.is_over = true;
        if self.has_begun && !self.is_plain {
            self.decoder.end()?;
        }
        Ok(self.decoder.taken())
    }
}

impl<B: Body<Data = Bytes, Error: std::error::Error + 'static> + Unpin> Body for Decoded<B> {
    type Data = Bytes;
    type Error = DecodeError<B::Error>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Self { body, unpacking, is_closed } = &mut *self;
        let mut body = Pin::new(body);
        let Some(unpacking) = unpacking else {
            let frame = ready!(body.poll_frame(cx));
            let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()?.first());
            if data.is_some_and(|first| std::mem::take(is_closed) && !begins_text(*first)) {
                return Poll::Ready(Some(Err(DecodeError::Closed)));
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(DecodeError::Body)));
        };
        let data = |decoded: io::Result<Option<Bytes>>| {
            decoded.map_err(DecodeError::Damaged).transpose().map(|bytes| bytes.map(Frame::data))
        };
        loop {
            if let Some(next) = data(unpacking.next()) {
                return Poll::Ready(Some(next));
            }
            match ready!(body.as_mut().poll_frame(cx)) {
                None if unpacking.is_over => return Poll::Ready(None),
                None => return Poll::Ready(data(unpacking.end())),
                Some(Err(error)) => return Poll::Ready(Some(Err(DecodeError::Body(error)))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(given) => unpacking.given = given,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        if self.unpacking.is_some() { SizeHint::default() } else { self.body.size_hint() }
    }
}

/// Whether JSON, a page or an event begins with that byte.
fn begins_text(first: u8) -> bool {
    first.is_ascii_graphic() || first.is_ascii_whitespace() || first == 0xef
}

/// Whether what is labelled as deflate is not compressed at all. Without the head of a zlib, which some servers leave out, a
/// compressed text may begin as well with most letters, though not with the first two of JSON, events or pages.
fn is_plain(start: &[u8]) -> bool {
    match start {
        [b'd', second, ..] => *second == b'a',
        [b'e', second, ..] => *second == b'v',
        [b'<', second, ..] => second.is_ascii_alphabetic() || b"!?".contains(second),
        [first, ..] => first.is_ascii_whitespace() || b"{[<\":deir\xef".contains(first),
        [] => true,
    }
}

/// The fields of an event, as a line begins with them.
const FIELDS: [&[u8]; 4] = [b"data:", b"event:", b"id:", b"retry:"];
/// White space that may come before the first line.
const MAX_BLANK: usize = 1 << 10;

/// The body of an answer.
pub struct Peeked<B = Decoded> {
    first: Bytes,
    rest: B,
}

impl Peeked {
    /// A body that nobody has looked at.
    pub(crate) fn new(rest: Decoded) -> Self {
        Self { first: Bytes::new(), rest }
    }

    /// Whether the body begins as events do.
    pub(crate) async fn is_stream(&mut self, of: Beginning, deadline: Instant) -> Result<bool, BodyError> {
        loop {
            if let Some(is_stream) = begins_stream(&self.first, of) {
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

/// What a stream may begin with, beside the fields of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// Nothing: an object or a list is a body.
    Body,
    /// A list of objects.
    Events,
    /// The same, or an object, each on a line of its own.
    Lines,
}

/// `None` where more bytes must come first.
fn begins_stream(bytes: &[u8], of: Beginning) -> Option<bool> {
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).trim_ascii_start();
    match text.first() {
        None => (bytes.len() > MAX_BLANK).then_some(false),
        Some(b':') => Some(true),
        Some(b'{') => Some(of == Beginning::Lines),
        Some(b'[') if of == Beginning::Body => Some(false),
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
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
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
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(&text).unwrap();
        let mut headless = DeflateEncoder::new(Vec::new(), Compression::default());
        headless.write_all(&text).unwrap();
        let zstd = |text: &[u8]| zstd::encode_all(text, 3).unwrap();
        for (encoding, bytes) in [
            ("gzip", bytes.clone()),
            (" X-GZip ", [gzip(&text[..7]), gzip(&text[7..])].concat()),
            ("deflate", zlib.finish().unwrap()),
            ("deflate", headless.finish().unwrap()),
            ("zstd", zstd(&text)),
            ("ZSTD", [zstd(&text[..7]), zstd(&text[7..])].concat()),
        ] {
            for size in [1, 10, bytes.len()] {
                let pieces = bytes.chunks(size).map(<[u8]>::to_vec).collect();
                let (all, is_whole) = read(encoding, pieces).await;
                assert_eq!((all.concat(), is_whole), (text.clone(), true), "{encoding} {size}");
            }
            for cut in [bytes[..bytes.len() - 9].to_vec(), [&bytes[..2], b" damaged"].concat()] {
                assert!(!read(encoding, vec![cut]).await.1, "{encoding}");
            }
        }
        for encoding in ["identity", "br"] {
            assert_eq!(read(encoding, vec![text.clone()]).await, (vec![text.clone().into()], true));
        }
        let brotli = b"\x1b\x0f\x00\x00\xa4".to_vec();
        assert_eq!(read("br", vec![brotli.clone()]).await, (vec![], false), "nobody could read it");
        assert!(read("identity", vec![brotli]).await.1, "a file may begin with anything");
        for encoding in ["gzip", "deflate", "zstd"] {
            assert_eq!(read(encoding, vec![]).await, (vec![], true), "an empty body");
            for size in [1, text.len()] {
                let pieces = text.chunks(size).map(<[u8]>::to_vec).collect();
                let (all, is_whole) = read(encoding, pieces).await;
                let whole = (text.clone(), true);
                assert_eq!((all.concat(), is_whole), whole, "a header of what was decoded on the way");
            }
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
        let mut out = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
        let mut pieces = vec![];
        for event in ["one", "two"] {
            out.write_all(event.as_bytes()).unwrap();
            out.flush().unwrap();
            pieces.push(std::mem::take(out.get_mut()));
        }
        assert_eq!(read("zstd", pieces).await.0, ["one", "two"]);
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
            assert_eq!(begins_stream(text.as_bytes(), Beginning::Events), expected, "{text:?}");
        }
        assert_eq!(begins_stream(b"{\"id\":1}\n", Beginning::Lines), Some(true));
        assert_eq!(begins_stream(b"[{\"id\":1}", Beginning::Body), Some(false));
        assert_eq!(begins_stream(b"data: {}\n\n", Beginning::Body), Some(true));
        assert_eq!(begins_stream(&[0xef, 0xbb], Beginning::Events), None);
        assert_eq!(begins_stream(&[b' '; MAX_BLANK + 1], Beginning::Events), Some(false));
    }
}
