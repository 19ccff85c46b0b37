//! Messages (RFC 9113, 8).
//!
//! One rule of 8.1 has no row: trailers with a pseudo field are malformed, and are not refused. The library drops such a field
//! from trailers, so nothing behind it can tell; the field has no effect either.

use super::*;

pub(super) fn rows() -> Vec<Row> {
    let malformed = Refused(1, &[PROTOCOL_ERROR]);
    let with = |more: &[(&str, &str)], body: &[u8]| -> Vec<u8> {
        [frame(HEADERS, HEAD, 1, &fields(&[POST, more].concat())), frame(DATA, END, 1, body)].concat()
    };
    vec![
        Row(
            "8.1",
            "a second head that ends nothing",
            [open(1), frame(HEADERS, HEAD, 1, &fields(&[("x-a", "b")]))].concat(),
            malformed,
        ),
        Row("8.2", "capitals", live(&[("X-A", "b")]), malformed),
        Row("8.2.1", "white space in a name", live(&[("x a", "b")]), malformed),
        Row("8.2.1", "a colon in a name", live(&[("x:a", "b")]), malformed),
        Row("8.2.1", "a line end in a value", live(&[("x-a", "b\nc")]), malformed),
        Row("8.2.1", "no name", live(&[("", "b")]), malformed),
        Row("8.2.2", "a field of the connection", live(&[("keep-alive", "5")]), malformed),
        Row("8.2.2", "another connection's field", live(&[("proxy-connection", "close")]), malformed),
        Row("8.2.2", "an encoding of transfers but trailers", live(&[("te", "gzip")]), malformed),
        Row("8.2.2", "trailers are welcome", live(&[("te", "trailers")]), Answered(1)),
        Row("8.3", "an unknown pseudo field", live(&[(":x", "b")]), malformed),
        Row(
            "8.3",
            "a pseudo field behind others",
            request(1, &[LIVE[0], LIVE[1], LIVE[2], ("x-a", "b"), LIVE[3]]),
            malformed,
        ),
        Row("8.3.1", "two paths", request(1, &[LIVE, &[(":path", "/livez")]].concat()), malformed),
        Row("8.3.1", "two schemes", request(1, &[LIVE, &[(":scheme", "http")]].concat()), malformed),
        Row("8.3.1", "no scheme", request(1, &[LIVE[0], LIVE[2], LIVE[3]]), malformed),
        Row("8.1.1", "a longer length than body", with(&[("content-length", "5")], b"{}"), malformed),
        Row("8.1.1", "a shorter length than body", with(&[("content-length", "1")], b"{}"), malformed),
        Row(
            "8.4",
            "a promise",
            frame(PUSH_PROMISE, HEAD, 1, &[&[0, 0, 0, 2][..], &fields(LIVE)].concat()),
            Ended(&[PROTOCOL_ERROR]),
        ),
    ]
}
