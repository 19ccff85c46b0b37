//! Handwritten HTTP/2 frames, valid or not (RFC 9113; RFC 7541).

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

/// Flags: the stream's end, an acknowledgement, the head's end, padding.
pub(crate) const END: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const HEAD: u8 = 4;
pub(crate) const PADDED: u8 = 8;

/// A request for the health path.
pub(crate) const LIVE: &[(&str, &str)] =
    &[(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/livez")];

/// One frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short payload").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Fields as literals without indexing and without Huffman coding, written as they are.
pub(crate) fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            length(text.len(), &mut block);
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

/// A length with a prefix of seven bits (RFC 7541, 5.1).
fn length(mut length: usize, block: &mut Vec<u8>) {
    if length < 127 {
        block.push(u8::try_from(length).expect("seven bits"));
        return;
    }
    block.push(127);
    length -= 127;
    while length >= 128 {
        block.push(u8::try_from(length % 128).expect("seven bits") | 128);
        length /= 128;
    }
    block.push(u8::try_from(length).expect("seven bits"));
}

/// A whole request without a body.
pub(crate) fn request(stream: u32, of: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, HEAD | END, stream, &fields(of))
}

/// The head of a submission whose body is still to come.
pub(crate) fn submission(stream: u32, key: &str) -> Vec<u8> {
    let head = [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "a"),
        (":path", "/v1/images/generations"),
        ("authorization", key),
        ("content-type", "application/json"),
    ];
    frame(HEADERS, HEAD, stream, &fields(&head))
}

/// A frame that came.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    /// The error code of a RST_STREAM or GOAWAY frame.
    pub(crate) fn reason(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        let code = self.payload.get(at..at + 4).and_then(|code| code.try_into().ok());
        u32::from_be_bytes(code.expect("an error code"))
    }
}

/// One connection, past the preface.
pub(crate) struct Link {
    stream: TcpStream,
}

impl Link {
    /// Connects with these settings; a small receive buffer makes a client that reads nothing felt early.
    pub(crate) async fn open(address: SocketAddr, settings: &[u8]) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(16 * 1024).expect("a buffer");
        let mut link = Self { stream: socket.connect(address).await.expect("a connection") };
        link.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        link.send(&frame(SETTINGS, 0, 0, settings)).await;
        link
    }

    /// Writes; false once the gateway has hung up.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok()
    }

    /// The next frame, or `None` once the gateway has hung up.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).await.ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some(Frame { kind: head[3], flags: head[4], stream, payload })
    }

    /// The next frame about a stream, or the GOAWAY.
    pub(crate) async fn next_relevant(&mut self) -> Option<Frame> {
        loop {
            let frame = self.next().await?;
            if matches!(frame.kind, DATA | HEADERS | RST_STREAM | GOAWAY) {
                return Some(frame);
            }
        }
    }

    /// All frames before the reply to a ping; replies are in order.
    pub(crate) async fn until_pong(&mut self) -> Option<Vec<Frame>> {
        self.send(&frame(PING, 0, 0, b"gatehous")).await;
        let mut frames = Vec::new();
        loop {
            let next = self.next().await?;
            if next.kind == PING && next.payload == b"gatehous" {
                return Some(frames);
            }
            frames.push(next);
        }
    }

    /// Reads to the end; the last reason given for it. A gateway that keeps asking whether this client lives
    /// is told so, twice; then it has kept the connection longer than any limit of these tests.
    pub(crate) async fn until_closed(&mut self) -> Option<u32> {
        let (mut reason, mut pings) = (None, 0);
        while let Some(next) = self.next().await {
            if next.kind == GOAWAY {
                reason = Some(next.reason());
            } else if next.kind == PING && next.flags & ACK == 0 {
                // A graceful GOAWAY is followed by a ping of its own.
                pings += u32::from(reason.is_none());
                assert!(pings < 3, "the connection is kept for ever");
                self.send(&frame(PING, ACK, 0, &next.payload)).await;
            }
        }
        reason
    }

    /// The whole body of the answer on a stream; `None` when there is none.
    pub(crate) async fn body(&mut self, stream: u32) -> Option<String> {
        let mut body = Vec::new();
        loop {
            let frame = self.next_relevant().await?;
            if frame.kind == GOAWAY || (frame.stream == stream && frame.kind == RST_STREAM) {
                return None;
            }
            if frame.stream == stream {
                if frame.kind == DATA {
                    body.extend_from_slice(&frame.payload);
                }
                if frame.flags & END != 0 {
                    return Some(String::from_utf8(body).expect("answers are text"));
                }
            }
        }
    }
}
