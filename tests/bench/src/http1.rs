//! HTTP/1.1 as bytes: where a message's head ends, how its body is framed, and messages written beforehand. Knows no
//! socket, and of a head no more than this program needs.

use bytes::{Bytes, BytesMut};
use httparse::{EMPTY_HEADER, Header, Status};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Fields of a head; more is an error.
const FIELDS: usize = 64;
/// Room for one read. What a read does not fill is never touched, so it costs no memory.
const ROOM: usize = 64 << 10;

/// A request's head.
pub(crate) struct RequestHead<'b> {
    pub(crate) path: &'b str,
    pub(crate) method: &'b str,
    pub(crate) body: Body,
    /// Its bytes.
    pub(crate) length: usize,
}

/// An answer's head.
#[derive(Clone, Copy)]
pub(crate) struct AnswerHead {
    pub(crate) status: u16,
    pub(crate) body: Body,
    /// Its bytes.
    pub(crate) length: usize,
}

/// What is still to come of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// That many bytes.
    Length(usize),
    /// A line with the length of the next chunk.
    ChunkLine,
    /// That many bytes of a chunk.
    Chunk(usize),
    /// The end of a chunk's last line.
    ChunkEnd,
    /// Lines behind the last chunk, up to an empty one.
    Trailer,
}

/// Reads more into `buffer`; false at the end of `from`.
pub(crate) async fn fill(
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
) -> std::io::Result<bool> {
    buffer.reserve(ROOM);
    Ok(from.read_buf(buffer).await? > 0)
}

/// The request's head that `bytes` begin with, if they hold all of it.
pub(crate) fn request_head(bytes: &[u8]) -> Option<RequestHead<'_>> {
    let mut fields = [EMPTY_HEADER; FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let Status::Complete(length) = request.parse(bytes).expect("the head of a request") else {
        return None;
    };
    let (method, path) = (request.method.expect("a whole head"), request.path.expect("a whole head"));
    Some(RequestHead { path, method, body: framing(request.headers).unwrap_or(Body::Length(0)), length })
}

/// The answer's head that `bytes` begin with, if they hold all of it.
pub(crate) fn answer_head(bytes: &[u8]) -> Option<AnswerHead> {
    let mut fields = [EMPTY_HEADER; FIELDS];
    let mut answer = httparse::Response::new(&mut fields);
    let Status::Complete(length) = answer.parse(bytes).expect("the head of an answer") else {
        return None;
    };
    let status = answer.code.expect("a whole head");
    let body = match status {
        100..200 | 204 | 304 => Body::Length(0),
        _ => framing(answer.headers).expect("a body that ends before its connection"),
    };
    Some(AnswerHead { status, body, length })
}

fn framing(fields: &[Header<'_>]) -> Option<Body> {
    let value = |name: &str| {
        let field = fields.iter().find(|field| field.name.eq_ignore_ascii_case(name))?;
        Some(std::str::from_utf8(field.value).expect("a value in ASCII"))
    };
    // Where both are named, the length says nothing.
    if let Some(coding) = value("transfer-encoding") {
        assert!(coding.eq_ignore_ascii_case("chunked"), "{coding}");
        return Some(Body::ChunkLine);
    }
    value("content-length").map(|length| Body::Length(length.parse().expect("a length in bytes")))
}

impl Body {
    /// Whether it is over.
    pub(crate) fn is_over(self) -> bool {
        self == Self::Length(0)
    }

    /// Hands what `bytes` hold of it to `data` and returns how many it took. It leaves what follows the body, and the
    /// beginning of a line that is not whole.
    pub(crate) fn take(&mut self, bytes: &[u8], mut data: impl FnMut(&[u8])) -> usize {
        let mut rest = bytes;
        while let Some(taken) = self.step(rest, &mut data) {
            rest = &rest[taken..];
        }
        bytes.len() - rest.len()
    }

    /// One part of it; none if it is over or `bytes` hold too little.
    fn step(&mut self, bytes: &[u8], data: &mut impl FnMut(&[u8])) -> Option<usize> {
        let (taken, next) = match *self {
            Self::Length(0) => return None,
            Self::Length(left) | Self::Chunk(left) => {
                let taken = bytes.len().min(left);
                if taken == 0 {
                    return None;
                }
                data(&bytes[..taken]);
                let next = match (*self, left - taken) {
                    (Self::Length(_), left) => Self::Length(left),
                    (_, 0) => Self::ChunkEnd,
                    (_, left) => Self::Chunk(left),
                };
                (taken, next)
            }
            Self::ChunkLine => match httparse::parse_chunk_size(bytes).expect("the length of a chunk") {
                Status::Partial => return None,
                Status::Complete((taken, 0)) => (taken, Self::Trailer),
                Status::Complete((taken, length)) => {
                    (taken, Self::Chunk(usize::try_from(length).expect("a chunk that fits")))
                }
            },
            Self::ChunkEnd => {
                let end = bytes.get(..2)?;
                assert_eq!(end, b"\r\n", "the end of a chunk");
                (2, Self::ChunkLine)
            }
            Self::Trailer => {
                let end = bytes.iter().position(|byte| *byte == b'\n')?;
                let empty = bytes[..end].trim_ascii().is_empty();
                (end + 1, if empty { Self::Length(0) } else { Self::Trailer })
            }
        };
        *self = next;
        Some(taken)
    }
}

/// A request that posts JSON.
pub(crate) fn post(path: &str, host: &str, bearer: &str, json: &[u8]) -> Bytes {
    let length = json.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: {bearer}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), json].concat().into()
}

/// A request without a body.
pub(crate) fn get(path: &str, host: &str, bearer: &str) -> Bytes {
    format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: {bearer}\r\n\r\n").into()
}

/// A good answer.
pub(crate) fn answer(kind: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// A good answer in chunks as the writes that make it: the head goes with the first, the end with the last.
pub(crate) fn chunked(kind: &str, chunks: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
    let last = chunks.len().saturating_sub(1);
    let part = |(at, chunk): (usize, &Vec<u8>)| {
        let head = if at == 0 { head.as_str() } else { "" };
        let line = format!("{head}{:x}\r\n", chunk.len());
        let end: &[u8] = if at == last { b"\r\n0\r\n\r\n" } else { b"\r\n" };
        [line.as_bytes(), chunk, end].concat()
    };
    chunks.iter().enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer in pieces: what its body holds, and what follows it.
    fn read(pieces: &[&[u8]]) -> Option<(u16, Vec<u8>, Vec<u8>)> {
        let (mut buffer, mut head, mut text) = (Vec::new(), None, Vec::new());
        for piece in pieces {
            buffer.extend_from_slice(piece);
            if head.is_none() {
                head = answer_head(&buffer);
                buffer.drain(..head.map_or(0, |head| head.length));
            }
            if let Some(head) = &mut head {
                let taken = head.body.take(&buffer, |data| text.extend_from_slice(data));
                buffer.drain(..taken);
            }
        }
        let head = head.filter(|head| head.body.is_over())?;
        Some((head.status, text, buffer))
    }

    /// Reads it whole, cut at each byte, and byte by byte; all the same, and never over before its end.
    #[track_caller]
    fn reads(message: &str, status: u16, body: &str) {
        let expected = Some((status, body.as_bytes().to_vec(), Vec::new()));
        let bytes = message.as_bytes();
        assert_eq!(read(&[bytes]), expected);
        for at in 0..bytes.len() {
            let (before, after) = bytes.split_at(at);
            assert_eq!(read(&[before, after]), expected, "cut at {at}");
            assert_eq!(read(&[before]), None, "without the bytes from {at} on");
        }
        assert_eq!(read(&bytes.chunks(1).collect::<Vec<_>>()), expected);
        let followed = format!("{message}HTTP/1.1");
        let expected = Some((status, body.as_bytes().to_vec(), b"HTTP/1.1".to_vec()));
        assert_eq!(read(&[followed.as_bytes()]), expected);
    }

    #[test]
    fn a_body_ends_by_its_length() {
        reads("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nfog\r\nat dawn", 200, "fog\r\nat dawn");
        reads("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nserver: x\r\n\r\n", 404, "");
    }

    #[test]
    fn a_body_ends_by_its_last_chunk() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\ncontent-length: 3\r\n\r\n";
        reads(&format!("{head}3\r\nfog\r\nB;name=x\r\n at\r\n dawn!\r\n0\r\n\r\n"), 200, "fog at\r\n dawn!");
        reads(&format!("{head}1\r\n.\r\n0\r\nsum: 1\r\nother: 2\r\n\r\n"), 200, ".");
        reads(&format!("{head}0\r\n\r\n"), 200, "");
    }

    #[test]
    fn an_answer_may_have_no_body() {
        reads("HTTP/1.1 204 No Content\r\n\r\n", 204, "");
        reads("HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n", 304, "");
        reads("HTTP/1.1 100 Continue\r\n\r\n", 100, "");
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let chunks = ["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"].map(|data| data.as_bytes().to_vec());
        let parts = chunked("text/event-stream", &chunks);
        assert_eq!(parts.len(), 3);
        reads(&String::from_utf8(parts.concat()).unwrap(), 200, "data: 1\n\ndata: 2\n\ndata: 3\n\n");
        reads(&String::from_utf8(answer("application/json", b"{}")).unwrap(), 200, "{}");

        let (sent, asked) =
            (post("/v1/x?y=1", "gate.test", "Bearer k", b"{\"a\":1}"), get("/v1/x", "h", "Bearer k"));
        for at in 0..sent.len() - 7 {
            assert!(request_head(&sent[..at]).is_none());
        }
        let head = request_head(&sent).unwrap();
        assert_eq!((head.method, head.path, head.body), ("POST", "/v1/x?y=1", Body::Length(7)));
        assert_eq!(&sent[head.length..], b"{\"a\":1}");
        let head = request_head(&asked).unwrap();
        assert_eq!(
            (head.method, head.path, head.body, head.length),
            ("GET", "/v1/x", Body::Length(0), asked.len())
        );
    }
}
