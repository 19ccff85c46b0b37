//! The kinds of frames (RFC 9113, 6).

use super::*;

pub(super) fn rows() -> Vec<Row> {
    let padded = |length: u8| [&[length][..], &fields(LIVE), &[0; 4]].concat();
    let ended: Outcome = Ended(&[PROTOCOL_ERROR]);
    // The HTTP library tells a wrong length as a protocol error.
    let size = Ended(&[FRAME_SIZE_ERROR, PROTOCOL_ERROR]);
    vec![
        Row("6.1", "a body without a stream", frame(DATA, END, 0, b"x"), ended),
        Row("6.1", "padding of a whole body", [open(1), frame(DATA, PADDED, 1, &[4, 1, 2])].concat(), ended),
        Row("6.2", "a padded head", frame(HEADERS, HEAD | END | PADDED, 1, &padded(4)), Answered(1)),
        Row("6.2", "more padding than head", frame(HEADERS, HEAD | END | PADDED, 1, &padded(255)), ended),
        Row(
            "6.2",
            "a head with a priority",
            frame(HEADERS, HEAD | END | PRIORITIZED, 1, &[&[0, 0, 0, 0, 200][..], &fields(LIVE)].concat()),
            Answered(1),
        ),
        Row("6.2", "a head without a stream", request(0, LIVE), ended),
        Row("6.3", "a priority without a stream", frame(PRIORITY, 0, 0, &[0; 5]), ended),
        Row(
            "6.3",
            "a priority cut short",
            frame(PRIORITY, 0, 1, &[0; 4]),
            Refused(1, &[FRAME_SIZE_ERROR, PROTOCOL_ERROR]),
        ),
        Row("6.4", "a reset without a stream", frame(RST_STREAM, 0, 0, &[0; 4]), ended),
        Row("6.4", "a reset of an idle stream", frame(RST_STREAM, 0, 1, &[0; 4]), ended),
        Row("6.4", "a reset cut short", [open(1), frame(RST_STREAM, 0, 1, &[0; 3])].concat(), size),
        Row("6.5", "settings agreed to with a payload", frame(SETTINGS, ACK, 0, &[0; 1]), size),
        Row("6.5", "settings of a stream", frame(SETTINGS, 0, 1, b""), ended),
        Row("6.5", "settings cut short", frame(SETTINGS, 0, 0, &[0; 3]), size),
        Row("6.5.2", "push neither on nor off", settings(&[(2, 2)]), ended),
        Row(
            "6.5.2",
            "a first window beyond its end",
            settings(&[(4, 0x8000_0000)]),
            Ended(&[FLOW_CONTROL_ERROR, PROTOCOL_ERROR]),
        ),
        Row("6.5.2", "frames smaller than allowed", settings(&[(5, 16_383)]), ended),
        Row("6.5.2", "frames larger than allowed", settings(&[(5, 16_777_216)]), ended),
        Row("6.5.2", "an unknown setting", [settings(&[(0xff, 1)]), live(&[])].concat(), Answered(1)),
        Row(
            "6.5.3",
            "one setting twice",
            [settings(&[(4, 100), (4, 1)]), settings(&[(4, 65_535)]), live(&[])].concat(),
            Answered(1),
        ),
        Row("6.7", "a ping of a stream", frame(PING, 0, 1, &[0; 8]), ended),
        Row("6.7", "a ping cut short", frame(PING, 0, 0, &[0; 6]), size),
        Row(
            "6.7",
            "an answer to no ping",
            [frame(PING, ACK, 0, b"unasked!"), live(&[])].concat(),
            Answered(1),
        ),
        Row("6.8", "a GOAWAY of a stream", frame(GOAWAY, 0, 1, &[0; 8]), ended),
        Row(
            "6.9",
            "a stream's window grown by nothing",
            [open(1), update(1, 0)].concat(),
            Refused(1, &[PROTOCOL_ERROR]),
        ),
        Row("6.9", "a connection's window grown by nothing", update(0, 0), ended),
        Row("6.9", "a window cut short", frame(WINDOW_UPDATE, 0, 0, &[0; 3]), size),
        Row(
            "6.9.1",
            "a connection's window beyond its end",
            [update(0, 0x7fff_ffff), update(0, 0x7fff_ffff)].concat(),
            Ended(&[FLOW_CONTROL_ERROR]),
        ),
        Row(
            "6.9.1",
            "a stream's window beyond its end",
            [open(1), update(1, 0x7fff_ffff)].concat(),
            Refused(1, &[FLOW_CONTROL_ERROR]),
        ),
        Row(
            "6.9.2",
            "a window below nothing",
            [settings(&[(4, 2)]), live(&[]), settings(&[(4, 0)]), settings(&[(4, 65_535)])].concat(),
            Answered(1),
        ),
        Row(
            "6.10",
            "a head in three frames",
            [
                frame(HEADERS, END, 1, b""),
                frame(CONTINUATION, 0, 1, &fields(&LIVE[..1])),
                frame(CONTINUATION, HEAD, 1, &fields(&LIVE[1..])),
            ]
            .concat(),
            Answered(1),
        ),
        Row(
            "6.10",
            "a continuation of a whole head",
            [live(&[]), frame(CONTINUATION, HEAD, 1, &fields(&[("x-a", "b")]))].concat(),
            ended,
        ),
        Row(
            "6.10",
            "a continuation without a stream",
            [frame(HEADERS, END, 1, &fields(LIVE)), frame(CONTINUATION, HEAD, 0, b"")].concat(),
            ended,
        ),
        Row(
            "6.10",
            "a continuation of a body",
            [open(1), frame(DATA, 0, 1, b"x"), frame(CONTINUATION, HEAD, 1, b"")].concat(),
            ended,
        ),
        Row(
            "6.10",
            "another head within a head",
            [frame(HEADERS, END, 1, &fields(LIVE)), request(3, LIVE)].concat(),
            ended,
        ),
    ]
}
