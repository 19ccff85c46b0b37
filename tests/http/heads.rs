//! Header lines: line ends, characters, number and size, on both sides of each limit.

use crate::http::cases::After::{Closed, Left};
use crate::http::cases::Answer::Good;
use crate::http::cases::{check, live, refused, row, served, silent, unparsed};
use crate::http::run;

/// A head with this many more lines of this length each.
fn lines(count: usize, length: usize) -> String {
    let more: String = (0..count).map(|line| format!("X-{line}: {}\r\n", "v".repeat(length))).collect();
    live(&format!("Host: a\r\n{more}"))
}

/// A head of one filler line so long that our own measure of it is `bytes`.
fn weighing(bytes: usize) -> String {
    let rest = "/livez".len() + "Host: a\r\n".len() + "X-A: \r\n".len();
    live(&format!("Host: a\r\nX-A: {}\r\n", "v".repeat(bytes - rest)))
}

#[test]
fn line_ends_and_characters() {
    run(check(vec![
        served("empty lines first", format!("\r\n\r\n{}", live("Host: a\r\n"))),
        // RFC 9112, 2.2 allows a lone line feed as a line's end. The framing tracker and hyper both do so:
        // nothing hides behind one (see `framing`).
        served("line feeds alone", "GET /livez HTTP/1.1\nHost: a\n\n"),
        served("line feeds and whole ends mixed", "GET /livez HTTP/1.1\r\nHost: a\nX-A: b\r\n\n"),
        served("an empty value", live("Host: a\r\nX-A:\r\n")),
        served("no space after the colon", live("Host:a\r\nX-A:b\r\n")),
        served("a tab in a value", live("Host: a\r\nX-A: b\tc\r\n")),
        served("bytes in a value", b"GET /livez HTTP/1.1\r\nHost: a\r\nX-A: \xc3\xa4\xff\r\n\r\n".as_slice()),
        refused(
            "two keys",
            live("Host: a\r\nAuthorization: KEY\r\nAuthorization: KEY\r\n"),
            400,
            "Authorization: given more than once",
        ),
        refused(
            "two keys in the other header",
            live("Host: a\r\nx-api-key: KEY\r\nX-Api-Key: KEY\r\n"),
            400,
            "x-api-key: given more than once",
        ),
        unparsed("a folded line", live("Host: a\r\nX-A: b\r\n c\r\n"), 400),
        unparsed("a line folded with a tab", live("Host: a\r\nX-A: b\r\n\tc\r\n"), 400),
        unparsed("a fold before the first line", live(" Host: a\r\n"), 400),
        unparsed("a folded host", live("Host: a\r\n b\r\n"), 400),
        unparsed("a space before the colon", live("Host : a\r\n"), 400),
        unparsed("a tab before the colon", live("Host\t: a\r\n"), 400),
        unparsed("no colon", live("Host: a\r\nX-A\r\n"), 400),
        unparsed("no name", live("Host: a\r\n: b\r\n"), 400),
        unparsed("a space in a name", live("Host: a\r\nX A: b\r\n"), 400),
        unparsed("a bracket in a name", live("Host: a\r\nX(A): b\r\n"), 400),
        unparsed("a NUL in a name", live("Host: a\r\nX\0A: b\r\n"), 400),
        unparsed("bytes in a name", b"GET /livez HTTP/1.1\r\nHost: a\r\nX\xff: b\r\n\r\n".as_slice(), 400),
        unparsed("a NUL in a value", live("Host: a\r\nX-A: b\0c\r\n"), 400),
        unparsed("an escape in a value", live("Host: a\r\nX-A: b\x1bc\r\n"), 400),
        unparsed("a delete in a value", live("Host: a\r\nX-A: b\x7fc\r\n"), 400),
        unparsed("a carriage return in a value", live("Host: a\r\nX-A: b\rGET /smuggled\r\n"), 400),
        unparsed("carriage returns alone", "GET /livez HTTP/1.1\rHost: a\r\r", 400),
        unparsed("two spaces after the method", "GET  /livez HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        unparsed("tabs in the request line", "GET\t/livez\tHTTP/1.1\r\nHost: a\r\n\r\n", 400),
        unparsed("a space behind the version", "GET /livez HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
        unparsed("a space before the method", " GET /livez HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ]));
}

/// The gateway refuses heads over its limits; the HTTP library's own limits are twice as many lines and
/// bytes. How much the library has read when it checks is not fixed, so rows stay well beyond its limits.
#[test]
fn numbers_and_sizes() {
    let name = "n".repeat(20_000);
    let endless = "n".repeat(140_000);
    run(check(vec![
        served("as many lines as allowed", lines(63, 1)),
        refused("one line more", lines(64, 1), 431, "65 header lines"),
        refused("as many lines as the library reads", lines(127, 1), 431, "128 header lines"),
        unparsed("a line more than the library reads", lines(128, 1), 431),
        unparsed("thousands of lines", lines(2_000, 1), 431),
        served("as many bytes as allowed", weighing(32 * 1024)),
        refused("one byte more", weighing(32 * 1024 + 1), 431, "at most 32768"),
        refused("many lines of medium length", lines(60, 800), 431, "at most 32768"),
        unparsed("a line beyond the library's limit", weighing(140_000), 431),
        unparsed("a line far beyond the library's limit", weighing(900_000), 431),
        served("a long name", live(&format!("Host: a\r\n{name}: b\r\n"))),
        unparsed("a name beyond the library's limit", live(&format!("Host: a\r\n{endless}: b\r\n")), 431),
        unparsed("a first line beyond the library's limit", "G".repeat(70_000), 431),
    ]));
}

#[test]
fn heads_that_do_not_end() {
    run(check(vec![
        silent("nothing at all", ""),
        silent("empty lines and nothing else", "\r\n\r\n\r\n"),
        silent("half a request line", "GET /li"),
        silent("half a head", "GET /livez HTTP/1.1\r\nHost: a\r\n"),
        row("nothing, and the client leaves", "", [], Left),
        row("half a head, and the client leaves", "GET /livez HTTP/1.1\r\nHost: a\r\n", [], Left),
        row(
            "half a head behind a request",
            format!("{}GET /li", live("Host: a\r\nConnection: close\r\n")),
            [Good(200)],
            Closed,
        ),
    ]));
}
