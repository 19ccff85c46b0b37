//! Bodies: size, pace, expectations; and pipelined requests.

use crate::http::cases::After::{Closed, Kept, Left};
use crate::http::cases::Answer::{Bare, Good, Interim, Ours};
use crate::http::cases::{Answer, check, ended, live, refused, row, served, submit};
use crate::http::run;

const MIB: usize = 1 << 20;

/// A submission with a body of this length, its model among spaces.
fn padded(length: usize) -> String {
    let body = "{\"model\":\"none-such\"}";
    submit(&format!("Content-Length: {length}\r\n\r\n{body}{}", " ".repeat(length - body.len())))
}

fn json(body: &str) -> String {
    submit(&format!("Content-Length: {}\r\n\r\n{body}", body.len()))
}

fn keyless(rest: &str) -> String {
    format!("POST /v1/images/generations HTTP/1.1\r\nHost: a\r\n{rest}")
}

#[test]
fn sizes_and_contents() {
    let chunk = format!("80000\r\n{}\r\n", " ".repeat(0x80000));
    let typed = |line: &str| json("{}").replace("Content-Type: application/json\r\n", line);
    run(check(vec![
        refused("as large as allowed", padded(MIB), 400, "none-such"),
        ended("one byte more", padded(MIB + 1), 413, "larger than 1048576"),
        ended("far more, written whole before anything is read", padded(48 * MIB), 413, "larger"),
        ended("an absurd length", submit("Content-Length: 1000000000000000000\r\n\r\n"), 413, "larger"),
        ended("the largest length", submit("Content-Length: 18446744073709551613\r\n\r\n"), 413, "larger"),
        ended(
            "chunks that add up",
            submit(&format!("Transfer-Encoding: chunked\r\n\r\n{chunk}{chunk}1\r\n \r\n0\r\n\r\n")),
            413,
            "larger",
        ),
        refused("no body", submit("\r\n"), 400, "empty"),
        refused("an empty body", submit("Content-Length: 0\r\n\r\n"), 400, "empty"),
        refused("half a JSON", json("{\"model\":"), 400, "not JSON"),
        refused("two JSONs", json("{}{}"), 400, "not JSON"),
        refused("JSON of the wrong kind", json("[1]"), 400, ""),
        refused("a mark before the JSON", json("\u{feff}{\"model\":\"none-such\"}"), 400, "none-such"),
        refused("two marks", json("\u{feff}\u{feff}{}"), 400, "not JSON"),
        refused("a mark alone", json("\u{feff}"), 400, "empty"),
        refused(
            "two types",
            typed("Content-Type: application/json\r\nContent-Type: text/plain\r\n"),
            400,
            "Content-Type: given more than once",
        ),
        refused("JSON too deep to follow", json(&"[".repeat(100_000)), 400, "at most 100 arrays"),
        refused("no type", typed(""), 415, "Content-Type"),
        refused("another type", typed("Content-Type: text/plain\r\n"), 415, "Content-Type"),
        refused(
            "a body of an unknown encoding",
            typed("Content-Type: application/json\r\nContent-Encoding: br\r\n"),
            415,
            "gzip and zstd",
        ),
        refused("a wrong path with a body", json("{}").replace("images", "imagos"), 404, "unknown path"),
        refused("a small body without a key", keyless("Content-Length: 5\r\n\r\nhello"), 401, ""),
        ended(
            "a large body without a key",
            keyless(&format!("Content-Length: 600000\r\n\r\n{}", "x".repeat(600_000))),
            401,
            "",
        ),
        ended(
            "chunks without a key",
            keyless("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
            401,
            "",
        ),
    ]));
}

#[test]
fn bodies_that_do_not_arrive() {
    run(check(vec![
        ended("a body that pauses", submit("Content-Length: 20\r\n\r\n{\"model\":"), 408, "in time"),
        ended(
            "a chunk that pauses",
            submit("Transfer-Encoding: chunked\r\n\r\n15\r\n{\"mod"),
            408,
            "in time",
        ),
        row(
            "an unwanted body that pauses",
            live("Host: a\r\nContent-Length: 5\r\n") + "he",
            [Good(200)],
            Closed,
        ),
        row(
            "a client that leaves within its body",
            submit("Content-Length: 20\r\n\r\n{\"model\":"),
            [Ours(400, "could not be read")],
            Left,
        ),
        row(
            "a client that leaves within a chunk",
            submit("Transfer-Encoding: chunked\r\n\r\n15\r\n{\"mod"),
            [Ours(400, "could not be read")],
            Left,
        ),
    ]));
}

#[test]
fn expectations() {
    let expecting = "Expect: 100-continue\r\nContent-Length: 21\r\n\r\n{\"model\":\"none-such\"}";
    run(check(vec![
        row("a wanted body", submit(expecting), [Interim, Ours(400, "none-such")], Kept),
        ended("an unwanted body", keyless("Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"), 401, ""),
        ended(
            "a body too large to want",
            submit("Expect: 100-continue\r\nContent-Length: 2000000\r\n\r\n"),
            413,
            "larger",
        ),
        ended(
            "a body of the wrong type",
            submit(expecting).replace("application/json", "text/plain"),
            415,
            "Content-Type",
        ),
        served("no body to expect", live("Host: a\r\nExpect: 100-continue\r\n")),
        refused(
            "an unknown expectation",
            submit(&expecting.replace("100-continue", "miracles")),
            400,
            "none-such",
        ),
        row(
            "an expectation in 1.0",
            submit(expecting).replace("HTTP/1.1", "HTTP/1.0"),
            [Ours(400, "none-such")],
            Closed,
        ),
    ]));
}

#[test]
fn requests_in_a_row() {
    let ok = || live("Host: a\r\n");
    let unknown = "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n";
    let last = live("Host: a\r\nConnection: close\r\n");
    let hidden = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    let good = |count: usize| -> Vec<Answer> { (0..count).map(|_| Good(200)).collect() };
    run(check(vec![
        row("two", ok() + &ok(), good(2), Kept),
        row("a hundred", ok().repeat(100), good(100), Kept),
        row("empty lines between them", ok() + "\r\n\r\n" + &ok(), good(2), Kept),
        row(
            "an error between them",
            ok() + unknown + &ok(),
            [Good(200), Ours(404, "/nowhere"), Good(200)],
            Kept,
        ),
        row(
            "no host between them",
            ok() + &live("") + &ok(),
            [Good(200), Ours(400, "Host"), Good(200)],
            Kept,
        ),
        row(
            "bodies between them",
            ok() + &json("{\"model\":\"ctx-pro\"}") + &json("{") + &ok(),
            [Good(200), Ours(400, "prompt"), Ours(400, "JSON"), Good(200)],
            Kept,
        ),
        row(
            "a refused body between them",
            keyless("Content-Length: 5\r\n\r\nhello") + &ok(),
            [Ours(401, ""), Good(200)],
            Kept,
        ),
        row("one that is the last", last + hidden, [Good(200)], Closed),
        row(
            "one behind 1.0",
            "GET /livez HTTP/1.0\r\nHost: a\r\n\r\n".to_owned() + hidden,
            [Good(200)],
            Closed,
        ),
        row("no request behind one", ok() + "\0\0\0\r\n" + hidden, [Good(200), Bare(400)], Closed),
        row(
            "one behind a body that is too large",
            submit("Content-Length: 2000000\r\n\r\n") + hidden,
            [Ours(413, "larger")],
            Closed,
        ),
        row(
            "one behind chunks",
            submit("Transfer-Encoding: chunked\r\n\r\n13\r\n{\"model\":\"ctx-pro\"}\r\n0\r\n\r\n") + hidden,
            [Ours(400, "prompt")],
            Closed,
        ),
        row(
            "one within a body",
            json(&format!("{{\"model\":\"{}\"}}", "none-such GET /hidden")),
            [Ours(400, "none-such")],
            Kept,
        ),
        row(
            "one behind a body a byte short",
            submit("Content-Length: 20\r\n\r\n{\"model\":\"none-such\"}") + hidden,
            [Ours(400, "not JSON"), Bare(400)],
            Closed,
        ),
    ]));
}
