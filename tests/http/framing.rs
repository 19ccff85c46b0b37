//! The end of a body: lengths, encodings and chunks, and ways to make two parsers disagree about it
//! (smuggling).

use crate::http::cases::After::Closed;
use crate::http::cases::Answer::{Good, Ours};
use crate::http::cases::{Case, check, ended, live, refused, row, served, submit, unparsed};
use crate::http::run;

/// The request to smuggle.
const HIDDEN: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
/// A body of 21 bytes, and the word its refusal quotes.
const BODY: &str = "{\"model\":\"none-such\"}";
const QUOTED: &str = "none-such";

/// A request with these framing lines, and the hidden request behind its head.
fn hiding(lines: &str) -> String {
    format!("POST /livez HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n{HIDDEN}")
}

fn length(value: &str) -> String {
    hiding(&format!("Content-Length: {value}"))
}

fn encoding(value: &str) -> String {
    hiding(&format!("Transfer-Encoding: {value}"))
}

/// A submission whose body is written in these chunks.
fn chunked(chunks: &str) -> String {
    submit(&format!("Transfer-Encoding: chunked\r\n\r\n{chunks}"))
}

#[test]
fn lengths() {
    let both = "Content-Length: 5\r\nContent-Length: 6";
    run(check(vec![
        refused("a length", submit(&format!("Content-Length: 21\r\n\r\n{BODY}")), 400, QUOTED),
        refused("a length with zeros", submit(&format!("Content-Length: 0021\r\n\r\n{BODY}")), 400, QUOTED),
        refused(
            "the same length twice",
            submit(&format!("Content-Length: 21\r\nContent-Length: 21\r\n\r\n{BODY}")),
            400,
            QUOTED,
        ),
        served("a body where none belongs", live("Host: a\r\nContent-Length: 5\r\n") + "hello"),
        served("a request as an unwanted body", live("Host: a\r\nContent-Length: 35\r\n") + HIDDEN),
        refused(
            "a request as a refused body",
            format!("POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 35\r\n\r\n{HIDDEN}"),
            405,
            "POST",
        ),
        unparsed("two lengths", hiding(both), 400),
        unparsed("a list of lengths", length("5, 5"), 400),
        unparsed("a list of two lengths", length("5, 6"), 400),
        unparsed("a length with a plus", length("+5"), 400),
        unparsed("a negative length", length("-1"), 400),
        unparsed("a length in hex", length("0x5"), 400),
        unparsed("a broken number", length("5.0"), 400),
        unparsed("two numbers", length("5 5"), 400),
        unparsed("no number", length(""), 400),
        unparsed("a word", length("five"), 400),
        unparsed("a number with an underscore", length("1_0"), 400),
        unparsed("a length in quotes", length("\"5\""), 400),
        unparsed("a length beyond 64 bits", length("18446744073709551616"), 400),
        unparsed("a length with a space before its colon", hiding("Content-Length : 35"), 400),
        unparsed("a folded length", hiding("Content-Length:\r\n 35"), 400),
        unparsed("a length behind a carriage return", hiding("X-A: b\rContent-Length: 35"), 400),
        served("an unknown name for a length", live("Host: a\r\nContent_Length: 35\r\n")),
        served(
            "a length called hop-by-hop stays one",
            live("Host: a\r\nConnection: keep-alive, content-length\r\nContent-Length: 35\r\n") + HIDDEN,
        ),
    ]));
}

#[test]
fn encodings() {
    let pair = "Content-Length and Transfer-Encoding";
    let other = "Transfer-Encoding: expected";
    run(check(vec![
        ended(
            "a length and an encoding",
            hiding("Content-Length: 5\r\nTransfer-Encoding: chunked"),
            400,
            pair,
        ),
        ended(
            "an encoding and a length",
            hiding("Transfer-Encoding: chunked\r\nContent-Length: 5"),
            400,
            pair,
        ),
        ended(
            "the pair with a length of zero",
            hiding("Content-Length: 0\r\nTransfer-Encoding: chunked"),
            400,
            pair,
        ),
        ended(
            "the pair far apart",
            hiding("Content-Length: 5\r\nX-A: b\r\nX-B: c\r\ntransfer-encoding:chunked"),
            400,
            pair,
        ),
        ended(
            "the pair behind a line feed",
            hiding("X-A: b\nContent-Length: 5\nTransfer-Encoding: chunked"),
            400,
            pair,
        ),
        row(
            "the pair behind an honest request",
            live("Host: a\r\n") + &hiding("Content-Length: 5\r\nTransfer-Encoding: chunked"),
            [Good(200), Ours(400, pair)],
            Closed,
        ),
        ended("a coding before the chunks", encoding("gzip, chunked"), 400, other),
        ended("no coding before the chunks", encoding("identity, chunked"), 400, other),
        ended("chunks in chunks", encoding("chunked, chunked"), 400, other),
        ended(
            "two lines of encodings",
            hiding("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked"),
            400,
            other,
        ),
        ended(
            "the encoding twice",
            hiding("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
            400,
            other,
        ),
        ended("an empty coding before the chunks", encoding(", chunked"), 400, other),
        unparsed("chunks that are not last", encoding("chunked, gzip"), 400),
        unparsed("an unknown encoding", encoding("xchunked"), 400),
        unparsed("no encoding", encoding("identity"), 400),
        unparsed("an empty encoding", encoding(""), 400),
        unparsed("an encoding in quotes", encoding("\"chunked\""), 400),
        unparsed("an encoding with a parameter", encoding("chunked;q=1"), 400),
        unparsed("an encoding behind a vertical tab", encoding("\x0bchunked"), 400),
        unparsed("an encoding with a space before its colon", hiding("Transfer-Encoding : chunked"), 400),
        unparsed("a folded encoding", hiding("Transfer-Encoding:\r\n chunked"), 400),
        unparsed(
            "chunks in 1.0",
            "POST /livez HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        served("an unknown name for an encoding", live("Host: a\r\nTransfer_Encoding: chunked\r\n")),
    ]));
}

/// A chunked body that is read to its end: the connection is ended all the same, since nothing behind a
/// chunked body is looked at.
fn whole(name: &'static str, chunks: &str) -> Case {
    ended(name, chunked(chunks) + HIDDEN, 400, QUOTED)
}

/// Chunks that are none.
fn broken(name: &'static str, chunks: &str) -> Case {
    ended(name, chunked(chunks) + HIDDEN, 400, "the request body could not be read")
}

#[test]
fn chunks() {
    let long = "x".repeat(40_000);
    let capitals = chunked(&format!("15\r\n{BODY}\r\n0\r\n\r\n")).replace("chunked", "Chunked");
    run(check(vec![
        whole("one chunk", &format!("15\r\n{BODY}\r\n0\r\n\r\n")),
        ended("an encoding in capitals", capitals + HIDDEN, 400, QUOTED),
        whole("two chunks", "5\r\n{\"mod\r\n10\r\nel\":\"none-such\"}\r\n0\r\n\r\n"),
        whole("zeros before a size", &format!("00015\r\n{BODY}\r\n000\r\n\r\n")),
        whole("an extension", &format!("15;a=b\r\n{BODY}\r\n0;c\r\n\r\n")),
        whole("trailers", &format!("15\r\n{BODY}\r\n0\r\nX-A: b\r\nHost: b\r\n\r\n")),
        whole("a length in the trailers", &format!("15\r\n{BODY}\r\n0\r\nContent-Length: 3\r\n\r\n")),
        broken("a size that is no number", &format!("xyz\r\n{BODY}\r\n0\r\n\r\n")),
        broken("no size", &format!("\r\n{BODY}\r\n0\r\n\r\n")),
        broken("a size with a sign", &format!("+15\r\n{BODY}\r\n0\r\n\r\n")),
        broken("a negative size", &format!("-15\r\n{BODY}\r\n0\r\n\r\n")),
        broken("a size with a prefix", &format!("0x15\r\n{BODY}\r\n0\r\n\r\n")),
        broken("a size beyond 64 bits", "10000000000000015\r\n{}"),
        broken("a size of all ones and more", "ffffffffffffffffff\r\n{}"),
        broken("a chunk longer than its size", &format!("14\r\n{BODY}\r\n0\r\n\r\n")),
        broken("a line feed for a size's end", &format!("15\n{BODY}\r\n0\r\n\r\n")),
        broken("a line feed for a chunk's end", &format!("15\r\n{BODY}\n0\r\n\r\n")),
        broken("a line feed in an extension", &format!("15;a\n{BODY}\r\n0\r\n\r\n")),
        broken("an extension without end", &format!("15;{long}\r\n{BODY}\r\n0\r\n\r\n")),
        broken("trailers without end", &format!("15\r\n{BODY}\r\n0\r\nX-A: {long}\r\n\r\n")),
    ]));
}
