//! Frames, streams and connections (RFC 9113, 4 and 5).

use super::*;

pub(super) fn rows() -> Vec<Row> {
    let reset = |stream| frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]);
    let closed: &[u32] = &[STREAM_CLOSED, PROTOCOL_ERROR];
    vec![
        Row("4.1", "an unknown frame", [frame(0x16, 0, 0, &[0; 8]), live(&[])].concat(), Answered(1)),
        Row(
            "4.1",
            "flags that mean nothing",
            [frame(PING, 0xfe, 0, &[0; 8]), live(&[])].concat(),
            Answered(1),
        ),
        Row("4.1", "a reserved bit", frame(HEADERS, HEAD | END, 0x8000_0001, &fields(LIVE)), Answered(1)),
        Row(
            "4.2",
            "a body of the largest frame",
            [open(1), frame(DATA, 0, 1, &[b' '; 16_384])].concat(),
            Ignored,
        ),
        Row(
            "4.2",
            "a larger body",
            [open(1), frame(DATA, 0, 1, &[0; 16_385])].concat(),
            Refused(1, &[FRAME_SIZE_ERROR]),
        ),
        Row("4.2", "larger settings", frame(SETTINGS, 0, 0, &[0; 16_386]), Ended(&[FRAME_SIZE_ERROR])),
        Row(
            "4.3",
            "a broken block",
            frame(HEADERS, HEAD | END, 1, &[0x3f, 0xff]),
            Ended(&[COMPRESSION_ERROR, PROTOCOL_ERROR]),
        ),
        Row(
            "4.3",
            "a priority within a head",
            [frame(HEADERS, END, 1, &fields(LIVE)), frame(PRIORITY, 0, 3, &[0; 5])].concat(),
            Ended(&[PROTOCOL_ERROR]),
        ),
        Row(
            "5.1",
            "a continuation of an idle stream",
            frame(CONTINUATION, HEAD, 1, &fields(LIVE)),
            Ended(&[PROTOCOL_ERROR]),
        ),
        Row(
            "5.1",
            "a body after the end",
            [live(&[]), frame(DATA, END, 1, b"x")].concat(),
            Refused(1, closed),
        ),
        Row("5.1", "a head after the end", [live(&[]), live(&[])].concat(), Refused(1, closed)),
        Row(
            "5.1",
            "a continuation after the end",
            [live(&[]), frame(CONTINUATION, HEAD, 1, b"")].concat(),
            Ended(closed),
        ),
        Row(
            "5.1",
            "a body after a reset",
            [open(1), reset(1), frame(DATA, END, 1, b"x")].concat(),
            IgnoredOrReset(1, STREAM_CLOSED),
        ),
        Row("5.1", "a head after a reset", [open(1), reset(1), live(&[])].concat(), Refused(1, closed)),
        Row("5.1", "a window after the end", [live(&[]), update(1, 1)].concat(), Answered(1)),
        Row("5.1", "a reset after the end", [request(3, LIVE), reset(3)].concat(), Ignored),
        Row("5.1", "a priority of an idle stream", frame(PRIORITY, 0, 7, &[0; 5]), Ignored),
        Row("5.1.1", "an even stream", request(2, LIVE), Ended(&[PROTOCOL_ERROR])),
        Row(
            "5.1.1",
            "a smaller stream",
            [request(5, LIVE), request(3, LIVE)].concat(),
            Refused(3, &[PROTOCOL_ERROR, STREAM_CLOSED]),
        ),
        Row(
            "5.1.2",
            "more streams than allowed",
            (0..129).flat_map(|n| open(2 * n + 1)).collect(),
            Refused(257, &[REFUSED_STREAM, PROTOCOL_ERROR]),
        ),
        Row(
            "5.3.1",
            "a stream that waits for itself",
            frame(HEADERS, HEAD | END | PRIORITIZED, 1, &[&[0, 0, 0, 1, 0][..], &fields(LIVE)].concat()),
            Refused(1, &[PROTOCOL_ERROR]),
        ),
        Row(
            "5.4.1",
            "an unknown error code of a reset",
            [open(1), frame(RST_STREAM, 0, 1, &[0xff; 4])].concat(),
            Ignored,
        ),
        Row(
            "5.5",
            "an unknown frame within a head",
            [frame(HEADERS, END, 1, &fields(LIVE)), frame(0x16, 0, 1, b"x")].concat(),
            Ended(&[PROTOCOL_ERROR]),
        ),
    ]
}
