//! Compressed fields (RFC 7541).

use super::*;

/// A request for the health path with a block of fields before its own.
fn with_block(block: &[u8]) -> Vec<u8> {
    frame(HEADERS, HEAD | END, 1, &[block, &fields(LIVE)].concat())
}

/// The same with one after it.
fn with_block_behind(block: &[u8]) -> Vec<u8> {
    frame(HEADERS, HEAD | END, 1, &[&fields(LIVE), block].concat())
}

pub(super) fn rows() -> Vec<Row> {
    // The HTTP library tells a broken block as a protocol error.
    let broken = Ended(&[COMPRESSION_ERROR, PROTOCOL_ERROR]);
    vec![
        Row("hpack 2.3.3", "an index beyond the table", with_block(&[0xff, 0x80, 0x01]), broken),
        Row("hpack 2.3.3", "a name beyond the table", with_block(&[0x7f, 0x80, 0x01, 1, b'x']), broken),
        Row("hpack 4.2", "a table's size behind fields", with_block_behind(&[0x20]), broken),
        Row("hpack 4.2", "a table's size before them", with_block(&[0x20]), Answered(1)),
        Row("hpack 5.1", "a number without an end", with_block(&[&[0xff][..], &[0x80; 12]].concat()), broken),
        Row(
            "hpack 5.2",
            "more padding than seven bits",
            with_block_behind(&[0x00, 1, b'a', 0x82, 0x1f, 0xff]),
            broken,
        ),
        Row("hpack 5.2", "padding of zeros", with_block_behind(&[0x00, 1, b'a', 0x81, 0x18]), broken),
        Row(
            "hpack 5.2",
            "the code of the end",
            with_block_behind(&[0x00, 1, b'a', 0x84, 0xff, 0xff, 0xff, 0xff]),
            broken,
        ),
        Row(
            "hpack 5.2",
            "a text longer than its block",
            with_block_behind(&[0x00, 1, b'a', 100, b'x']),
            broken,
        ),
        Row("hpack 6.1", "an index of zero", with_block(&[0x80]), broken),
        Row("hpack 6.3", "a table larger than allowed", with_block(&[0x3f, 0xe2, 0x1f]), broken),
        Row(
            "hpack 6.2.1",
            "a field kept and used again",
            [
                with_block_behind(&[0x40, 1, b'a', 1, b'b']),
                frame(HEADERS, HEAD | END, 3, &[&fields(LIVE)[..], &[0xbe]].concat()),
            ]
            .concat(),
            Answered(3),
        ),
    ]
}
