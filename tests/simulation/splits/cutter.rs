//! How a provider's answer is cut: into the frames of HTTP, and, independently, into the pieces that arrive one after
//! another. Pure.

use crate::random::Random;

/// The bytes of an answer, head included.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) pieces: Vec<Vec<u8>>,
    pub(crate) then: Then,
    /// Whether each piece is read before the next one comes.
    pub(crate) apart: bool,
}

/// What the provider does after the last byte of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Ends the body, and leaves the connection open.
    Rest,
    /// Ends the body although the stream is not at its end.
    Close,
    /// Hangs up in the middle of the body.
    HangUp,
}

/// How HTTP frames the body.
#[derive(Clone, Debug)]
pub(crate) enum Framing {
    /// One chunk.
    Whole,
    /// Its length in the head.
    Length,
    /// Chunks of these sizes, again and again.
    Chunks(Vec<usize>),
}

impl Framing {
    pub(crate) fn any(random: &Random) -> Self {
        match random.below(6) {
            0 => Self::Whole,
            1 => Self::Length,
            _ => Self::Chunks(
                (0..=random.below(5)).map(|_| 1 + random.below([3, 40, 900][random.below(3)])).collect(),
            ),
        }
    }
}

/// A whole answer with `body`, as it goes over the wire.
pub(crate) fn wire(body: &[u8], framing: &Framing, then: Then) -> Vec<u8> {
    let cut = then == Then::HangUp;
    let framed = match framing {
        Framing::Length => format!("content-length: {}\r\n", body.len() + usize::from(cut)),
        Framing::Whole | Framing::Chunks(_) => "transfer-encoding: chunked\r\n".to_owned(),
    };
    let mut out =
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n{framed}\r\n")
            .into_bytes();
    let sizes = match framing {
        Framing::Length => {
            out.extend_from_slice(body);
            return out;
        }
        Framing::Whole => &[usize::MAX][..],
        Framing::Chunks(sizes) => sizes,
    };
    let (mut rest, mut sizes) = (body, sizes.iter().cycle());
    while !rest.is_empty() {
        let size = sizes.next().map_or(rest.len(), |size| *size).min(rest.len());
        let (chunk, later) = rest.split_at(size);
        out.extend_from_slice(format!("{size:x}\r\n").as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
        rest = later;
    }
    if !cut {
        out.extend_from_slice(b"0\r\n\r\n");
    }
    out
}

/// Where the bytes of an answer are cut into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cuts {
    /// Nowhere.
    Nowhere,
    EveryByte,
    /// After each line feed.
    Lines,
    /// Inside every character of several bytes, and between every carriage return and its line feed.
    Traps,
    /// Before each carriage return and each line feed.
    BeforeEnds,
    /// Some of the traps.
    SomeTraps,
    /// At a few places.
    Few,
    /// Into many small pieces.
    Small,
    /// Into pieces of all sizes.
    Mixed,
}

impl Cuts {
    /// Those that need no randomness.
    pub(crate) const HARD: [Self; 5] =
        [Self::Nowhere, Self::EveryByte, Self::Lines, Self::Traps, Self::BeforeEnds];
    const RANDOM: [Self; 4] = [Self::SomeTraps, Self::Few, Self::Small, Self::Mixed];

    pub(crate) fn any(random: &Random) -> Self {
        Self::RANDOM[random.below(Self::RANDOM.len())]
    }

    pub(crate) fn pieces(self, bytes: &[u8], random: &Random) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        let (mut from, mut at) = (0, 0);
        let few = (0..=random.below(4)).map(|_| random.below(bytes.len())).collect::<Vec<_>>();
        while from < bytes.len() {
            at = match self {
                Self::Small => from + 1 + random.below(9),
                Self::Mixed => from + 1 + random.below([2, 16, 500, 4_000][random.below(4)]),
                _ => at + 1,
            };
            let cut = at >= bytes.len()
                || match self {
                    Self::Nowhere => false,
                    Self::EveryByte | Self::Small | Self::Mixed => true,
                    Self::Lines => bytes[at - 1] == b'\n',
                    Self::Traps => is_trap(bytes, at),
                    Self::BeforeEnds => matches!(bytes[at], b'\r' | b'\n'),
                    Self::SomeTraps => is_trap(bytes, at) && random.once_in(3),
                    Self::Few => few.contains(&at),
                };
            if cut {
                pieces.push(bytes[from..at.min(bytes.len())].to_vec());
                from = at;
            }
        }
        pieces
    }
}

fn is_trap(bytes: &[u8], at: usize) -> bool {
    let inside_character = bytes[at] & 0xc0 == 0x80;
    inside_character || (bytes[at - 1] == b'\r' && bytes[at] == b'\n')
}
