//! Tracks heads and bodies in the plain bytes of one HTTP/1 connection: facts that hyper does not report.
//!
//! hyper drops `Content-Length` when `Transfer-Encoding` is present, in either order, before the pair can be
//! refused; and it cannot tell a slow head from an idle connection. Both are visible here. Pure: never reads
//! a socket or a clock, never decides what a request means. After a head whose body cannot be tracked
//! (chunked, unreadable length) the connection is [`untracked`](Framing::is_untracked). It is closed after
//! that request, so no later head is missed.
//!
//! ```text
//! Between --byte--> Head --blank line--> Between | Body(n) | Untracked
//!    ^                                      Body(0) --> Between
//! ```

/// Bytes kept of a line: enough for the names and numbers below. A length in a line that has more is not read, as its last digits
/// may be missing.
const MAX_LINE: usize = 96;

/// The tracker of one connection.
#[derive(Debug)]
pub(crate) struct Framing {
    state: State,
    line: Vec<u8>,
    head: HeadFacts,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Between,
    Head,
    Body(u64),
    Untracked,
}

#[derive(Debug, Default)]
struct HeadFacts {
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
        Self { state: State::Between, line: Vec::with_capacity(MAX_LINE), head: HeadFacts::default() }
    }

    /// A head has begun and not ended.
    pub(crate) fn is_mid_head(&self) -> bool {
        self.state == State::Head
    }

    /// No byte after the current head can be tracked.
    pub(crate) fn is_untracked(&self) -> bool {
        self.state == State::Untracked
    }

    /// The last head had a length and an encoding at once (RFC 9112, 6.1: a smuggling attempt).
    pub(crate) fn is_ambiguous(&self) -> bool {
        self.head.encoded && self.head.sized
    }

    /// Takes received bytes, in order. Returns whether a head ended among them.
    pub(crate) fn observe(&mut self, mut bytes: &[u8]) -> bool {
        let mut ended = false;
        while !bytes.is_empty() {
            bytes = match self.state {
                State::Untracked => return ended,
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

    /// Takes bytes up to the end of the line, or all of them; also returns whether the line ended the head.
    fn read_line<'b>(&mut self, bytes: &'b [u8]) -> (&'b [u8], bool) {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let (part, rest) = match end {
            Some(at) => (&bytes[..at], &bytes[at + 1..]),
            None => (bytes, &[][..]),
        };
        let free = MAX_LINE - self.line.len();
        self.line.extend_from_slice(&part[..part.len().min(free)]);
        if self.state == State::Between && self.line.iter().any(|&byte| byte != b'\r') {
            self.state = State::Head;
            self.head = HeadFacts::default();
        }
        let last = end.is_some() && self.end_line();
        (rest, last)
    }

    fn end_line(&mut self) -> bool {
        let is_cut = self.line.len() == MAX_LINE;
        let line = self.line.trim_ascii_end();
        let last = self.state == State::Head && line.is_empty();
        if last {
            self.state = self.head.next_state();
        } else if self.state == State::Head {
            self.head.read_line(line, is_cut);
        }
        self.line.clear();
        last
    }
}

impl HeadFacts {
    fn read_line(&mut self, line: &[u8], is_cut: bool) {
        self.lines += 1;
        // HTTP/2 by prior knowledge begins with a line that looks like a head; its framing is not HTTP/1's.
        if self.lines == 1 && line.starts_with(b"PRI * HTTP/2") {
            self.length = Length::Unreadable;
        }
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { return };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.encoded = true;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            self.sized = true;
            let digits = std::str::from_utf8(value).ok().filter(|_| !is_cut);
            let number = digits.and_then(|digits| digits.parse().ok());
            self.length = number.map_or(Length::Unreadable, Length::Known);
        }
    }

    fn next_state(&self) -> State {
        match self.length {
            _ if self.encoded => State::Untracked,
            Length::None | Length::Known(0) => State::Between,
            Length::Known(length) => State::Body(length),
            Length::Unreadable => State::Untracked,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tells_heads_and_bodies_apart() {
        // Cut, it would be a length of nothing, and the body the next head.
        let long = format!("POST / HTTP/1.1\r\nContent-Length: {}3\r\n\r\nabc", "0".repeat(90));
        for (bytes, mid_head, untracked, ambiguous) in [
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
            (long.as_str(), false, true, false),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", false, true, false),
            // The facts of the request before do not count.
            ("P\r\nContent-Length: 1\r\n\r\nxGET / HTTP/1.1\r\n\r\nG", true, false, false),
            ("P\r\nContent-Length: 1\r\n\r\nxP\r\nTransfer-Encoding: chunked\r\n\r\n", false, true, false),
        ] {
            let mut framing = Framing::new();
            framing.observe(bytes.as_bytes());
            let found = (framing.is_mid_head(), framing.is_untracked(), framing.is_ambiguous());
            assert_eq!(found, (mid_head, untracked, ambiguous), "{bytes:?}");
        }
    }

    proptest! {
        /// Packet boundaries change nothing.
        #[test]
        fn any_split_gives_the_same_facts(cuts in prop::collection::vec(1_usize..9, 1..60)) {
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
            prop_assert!(framing.is_ambiguous() && framing.is_untracked());
            prop_assert_eq!(ends, 2);
        }
    }
}
