//! Hosts, targets, methods and versions: the request line and the authority.

use crate::http::cases::After::{Closed, Kept};
use crate::http::cases::Answer::{Good, Head, Ours};
use crate::http::cases::{check, ended, live, refused, row, served, silent, unparsed};
use crate::http::run;

fn target(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")
}

fn line(line: &str) -> String {
    format!("{line}\r\nHost: a\r\n\r\n")
}

#[test]
fn hosts() {
    let absolute = |target: &str, host: &str| format!("GET {target} HTTP/1.1\r\n{host}\r\n");
    run(check(vec![
        served("a host", live("Host: a\r\n")),
        served("a host with a port", live("Host: a:80\r\n")),
        served("an IPv6 host", live("Host: [::1]:8080\r\n")),
        served("a host in capitals", live("HOST: A.EXAMPLE\r\n")),
        served("a host between spaces", live("Host:  \t a \t \r\n")),
        refused("no host", live(""), 400, "Host: missing"),
        refused("an empty host", live("Host:\r\n"), 400, "Host"),
        refused("the same host twice", live("Host: a\r\nHost: a\r\n"), 400, "more than once"),
        refused("two hosts", live("Host: a\r\nHost: b\r\n"), 400, "more than once"),
        refused("two hosts far apart", live("Host: a\r\nX-A: b\r\nhOST: b\r\n"), 400, "more than once"),
        refused("a list of hosts", live("Host: a, b\r\n"), 400, "Host"),
        refused("a space in the host", live("Host: a b\r\n"), 400, "Host"),
        refused("a user in the host", live("Host: user@a\r\n"), 400, "Host"),
        refused("a path in the host", live("Host: a/b\r\n"), 400, "Host"),
        refused("a query in the host", live("Host: a?b\r\n"), 400, "Host"),
        refused("a URL as the host", live("Host: http://a\r\n"), 400, "Host"),
        refused("a port without a host", live("Host: :80\r\n"), 400, "Host"),
        refused("a port that is no number", live("Host: a:x\r\n"), 400, "Host"),
        refused("a port out of range", live("Host: a:99999\r\n"), 400, "Host"),
        refused("a port with a sign", live("Host: a:+80\r\n"), 400, "Host"),
        refused("a word behind the bracket", live("Host: [::1]a\r\n"), 400, "Host"),
        served("a colon without a port", live("Host: a:\r\n")),
        refused("an open bracket", live("Host: [::1\r\n"), 400, "Host"),
        refused(
            "bytes in the host",
            [&b"GET /livez HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n"[..]].concat(),
            400,
            "Host",
        ),
        served("a host that differs in case", absolute("http://a/livez", "Host: A\r\n")),
        served("an https target on cleartext", absolute("https://a/livez", "Host: a\r\n")),
        refused("a target for another host", absolute("http://b/livez", "Host: a\r\n"), 400, "differs"),
        refused("a port that the host lacks", absolute("http://a/livez", "Host: a:80\r\n"), 400, "differs"),
        refused("a wrong port twice", absolute("http://a:65536/livez", "Host: a:65536\r\n"), 400, "Host"),
        refused("a target for another port", absolute("http://a:81/livez", "Host: a\r\n"), 400, "differs"),
        refused("a target without the host line", absolute("http://a/livez", ""), 400, "Host"),
        refused("a user in the target", absolute("http://u@a/livez", "Host: u@a\r\n"), 400, "Host"),
        refused("a forwarded host is no host", live("X-Forwarded-Host: a\r\n"), 400, "Host: missing"),
    ]));
}

#[test]
fn targets() {
    run(check(vec![
        served("a query", target("/livez?x=1&y")),
        row("all of the server", line("OPTIONS * HTTP/1.1"), [Good(204)], Kept),
        refused("a star to read", line("GET * HTTP/1.1"), 404, "unknown path"),
        refused("an authority to read", line("GET a HTTP/1.1"), 404, "unknown path"),
        refused("a path in other case", target("/LIVEZ"), 404, "unknown path"),
        refused("a slash too many", target("/livez/"), 404, "unknown path"),
        refused("two slashes", target("//livez"), 404, "unknown path"),
        refused("dots are not walked", target("/v1/../livez"), 404, "unknown path"),
        refused("dots percent-encoded", target("/v1/%2e%2e/livez"), 404, "unknown path"),
        refused("a slash percent-encoded", target("/v1%2fmodels"), 404, "unknown path"),
        refused("a letter percent-encoded", target("/%6civez"), 404, "unknown path"),
        refused("a NUL percent-encoded", target("/livez%00"), 404, "unknown path"),
        refused("a parameter", target("/livez;x"), 404, "unknown path"),
        served("a fragment is not part of the path", target("/livez#x")),
        unparsed("no target", "GET HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        unparsed("an empty target", "GET  HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        unparsed("a space in the target", target("/livez x"), 400),
        unparsed("a NUL in the target", target("/livez\0"), 400),
        unparsed("an escape in the target", target("/livez\x1b"), 400),
        unparsed("a carriage return in the target", target("/livez\rx"), 400),
        unparsed("a scheme and nothing else", target("http://"), 400),
        refused(
            "a path between our limit and the library's",
            target(&format!("/{}", "p".repeat(33_000))),
            431,
            "bytes",
        ),
        unparsed("a path beyond the library's limit", target(&format!("/{}", "p".repeat(140_000))), 431),
    ]));
}

#[test]
fn methods() {
    run(check(vec![
        row("head", line("HEAD /livez HTTP/1.1"), [Head(200)], Kept),
        row("options", line("OPTIONS /v1/models HTTP/1.1"), [Good(204)], Kept),
        refused("trace", line("TRACE /livez HTTP/1.1"), 405, "TRACE"),
        refused("track", line("TRACK /livez HTTP/1.1"), 405, "TRACK"),
        row("a tunnel", line("CONNECT a HTTP/1.1"), [Ours(405, "CONNECT")], Kept),
        refused("a tunnel to a port", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 405, "CONNECT"),
        refused("an unknown method", line("BREW /livez HTTP/1.1"), 405, "BREW"),
        refused("methods have a case", line("get /livez HTTP/1.1"), 405, "get"),
        refused("put", line("PUT /v1/models HTTP/1.1"), 405, "PUT"),
        refused("delete", line("DELETE /v1/tasks HTTP/1.1"), 405, "DELETE"),
        refused("post without a length", line("POST /livez HTTP/1.1"), 405, "POST"),
        refused(
            "an override is not obeyed",
            line("POST /livez HTTP/1.1\r\nX-HTTP-Method-Override: GET"),
            405,
            "POST",
        ),
        unparsed("no method", line(" /livez HTTP/1.1"), 400),
        unparsed("a method with a bracket", line("G(T /livez HTTP/1.1"), 400),
        unparsed("a method with a NUL", line("G\0T /livez HTTP/1.1"), 400),
        unparsed("a method with a colon", line("GET: /livez HTTP/1.1"), 400),
    ]));
}

#[test]
fn versions_and_other_protocols() {
    run(check(vec![
        row("1.0", line("GET /livez HTTP/1.0"), [Good(200)], Closed),
        row("1.0 with keep-alive", line("GET /livez HTTP/1.0\r\nConnection: keep-alive"), [Good(200)], Kept),
        ended("1.0 without a host", "GET /livez HTTP/1.0\r\n\r\n", 400, "Host"),
        unparsed("0.9", "GET /livez\r\n\r\n", 400),
        unparsed("1.2", line("GET /livez HTTP/1.2"), 400),
        unparsed("2.0 as text", line("GET /livez HTTP/2.0"), 400),
        unparsed("9.9", line("GET /livez HTTP/9.9"), 400),
        unparsed("a version in small letters", line("GET /livez http/1.1"), 400),
        unparsed("half a version", line("GET /livez HTTP/1"), 400),
        unparsed("too much version", line("GET /livez HTTP/1.10"), 400),
        unparsed("another protocol's name", line("GET /livez RTSP/1.1"), 400),
        silent("HTTP/2 where it is not offered", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"),
        unparsed("TLS on cleartext", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n\r\n".as_slice(), 400),
        unparsed("SSH", "SSH-2.0-OpenSSH_9.9\r\n", 400),
        unparsed("mail", "EHLO a\r\nMAIL FROM:<a@a>\r\n", 400),
        unparsed(
            "a proxy's preamble",
            "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET /smuggled HTTP/1.1\r\n\r\n",
            400,
        ),
        unparsed("a single word", "hello\r\n\r\n", 400),
        unparsed("zeros", "\0\0\0\0\0\0\0\0", 400),
        served(
            "an upgrade to HTTP/2 is not taken",
            live(
                "Host: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAA\r\n",
            ),
        ),
        served(
            "an upgrade to a web socket is not taken",
            live("Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"),
        ),
    ]));
}
