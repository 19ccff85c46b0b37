//! Follows the heads on the plain bytes of one HTTP/1 connection: sees what hyper hides from its user.
//!
//! hyper drops `Content-Length` when `Transfer-Encoding` is present, in either order, before anyone can
//! refuse the pair; and it cannot tell a slow head from an idle connection. Both are visible here. Pure:
//! never reads a socket or a clock, never decides what a request means. A head this follower cannot follow
//! to its end (chunked body, unreadable length) makes it [`blind`](Framing::is_blind), and the connection
//! is closed after that request, so nothing behind it goes unseen.
//!
//! ```text
//! Between --byte--> Head --blank line--> Between | Body(n) | Blind
//!    ^                                      Body(0) --> Between
//! ```

/// As much of a line as any of the names and numbers below needs.
const LINE: usize = 96;

/// The follower.
#[derive(Debug)]
pub(crate) struct Framing {
    state: State,
    line: Vec<u8>,
    head: Head,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Between,
    Head,
    Body(u64),
    Blind,
}

#[derive(Debug, Default)]
struct Head {
    lines: usize,
    length: Length,
    encoded: bool,
    sized: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Length {
    #[default]
    None,
    Known(u64),
    Unreadable,
}

impl Framing {
    pub(crate) fn new() -> Self {
        Self { state: State::Between, line: Vec::with_capacity(LINE), head: Head::default() }
    }

    /// Part of a head has come and its end has not.
    pub(crate) fn is_mid_head(&self) -> bool {
        self.state == State::Head
    }

    /// Nothing after the current request can be followed.
    pub(crate) fn is_blind(&self) -> bool {
        self.state == State::Blind
    }

    /// The last head named a length and an encoding at once (RFC 9112, 6.1: a smuggling attempt).
    pub(crate) fn is_ambiguous(&self) -> bool {
        self.head.encoded && self.head.sized
    }

    /// Bytes that came in, in order. Returns whether a head ended among them.
    pub(crate) fn observe(&mut self, mut bytes: &[u8]) -> bool {
        let mut ended = false;
        while !bytes.is_empty() {
            bytes = match self.state {
                State::Blind => return ended,
                State::Body(left) => self.skip(left, bytes),
                State::Between | State::Head => {
                    let (rest, last) = self.read_line(bytes);
                    ended |= last;
                    rest
                }
            };
        }
        ended
    }

    fn skip<'b>(&mut self, left: u64, bytes: &'b [u8]) -> &'b [u8] {
        let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let left = left - here as u64;
        self.state = if left == 0 { State::Between } else { State::Body(left) };
        &bytes[here..]
    }

    /// Takes bytes up to the end of the line, or all of them; tells whether the line ended the head.
    fn read_line<'b>(&mut self, bytes: &'b [u8]) -> (&'b [u8], bool) {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let (part, rest) = match end {
            Some(at) => (&bytes[..at], &bytes[at + 1..]),
            None => (bytes, &[][..]),
        };
        let room = LINE - self.line.len();
        self.line.extend_from_slice(&part[..part.len().min(room)]);
        if self.state == State::Between && self.line.iter().any(|&byte| byte != b'\r') {
            self.state = State::Head;
            self.head = Head::default();
        }
        let last = end.is_some() && self.end_line();
        (rest, last)
    }

    fn end_line(&mut self) -> bool {
        let line = self.line.trim_ascii_end();
        let last = self.state == State::Head && line.is_empty();
        if last {
            self.state = self.head.what_follows();
        } else if self.state == State::Head {
            self.head.take(line);
        }
        self.line.clear();
        last
    }
}

impl Head {
    fn take(&mut self, line: &[u8]) {
        self.lines += 1;
        // HTTP/2 by prior knowledge begins with a line that looks like a head; its framing is not ours.
        if self.lines == 1 && line.starts_with(b"PRI * HTTP/2") {
            self.length = Length::Unreadable;
        }
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { return };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.encoded = true;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            self.sized = true;
            let number = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
            self.length = number.map_or(Length::Unreadable, Length::Known);
        }
    }

    fn what_follows(&self) -> State {
        match self.length {
            _ if self.encoded => State::Blind,
            Length::None | Length::Known(0) => State::Between,
            Length::Known(length) => State::Body(length),
            Length::Unreadable => State::Blind,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn follow(bytes: &str) -> Framing {
        let mut framing = Framing::new();
        framing.observe(bytes.as_bytes());
        framing
    }

    #[test]
    fn heads_and_bodies_are_told_apart() {
        for (bytes, mid_head, blind, ambiguous) in [
            ("", false, false, false),
            ("\r\n", false, false, false),
            ("G", true, false, false),
            ("GET / HTTP/1.1\r\nHost: a\r\n", true, false, false),
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", false, false, false),
            ("GET / HTTP/1.1\nHost: a\n\n", false, false, false),
            ("GET / HTTP/1.1\r\n\r\nGET", true, false, false),
            ("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", false, false, false),
            ("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nGETG", true, false, false),
            ("POST / HTTP/1.1\r\ntransfer-ENCODING: chunked\r\n\r\n0\r\n\r\n", false, true, false),
            ("POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", false, true, true),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\ncontent-length:3\r\n\r\n", false, true, true),
            ("POST / HTTP/1.1\r\nContent-Length: 3x\r\n\r\n", false, true, false),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", false, true, false),
        ] {
            let framing = follow(bytes);
            assert_eq!(
                (framing.is_mid_head(), framing.is_blind(), framing.is_ambiguous()),
                (mid_head, blind, ambiguous),
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn a_clean_request_clears_the_last_one() {
        let framing = follow("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nxGET / HTTP/1.1\r\n\r\n");
        assert!(!framing.head.sized && framing.state == State::Between);
    }

    proptest! {
        /// Packet borders never change what is seen.
        #[test]
        fn pieces_are_the_whole(cuts in prop::collection::vec(1_usize..9, 1..60)) {
            let text = "\r\nPOST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nhello\r\n\r\nyou\
                        POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n";
            let mut framing = Framing::new();
            let (mut rest, mut ends) = (text.as_bytes(), 0);
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (piece, later) = rest.split_at((*cut).min(rest.len()));
                ends += usize::from(framing.observe(piece));
                rest = later;
            }
            prop_assert!(framing.is_ambiguous() && framing.is_blind());
            prop_assert_eq!(ends, 2);
        }
    }
}
