//! The `Range` request header (RFC 9110, 14.2). Pure.

use std::ops::Range;

/// The header names a part that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unsatisfiable;

/// The part of an object of `length` bytes a header asks for, end exclusive. Other units, several ranges and
/// what is not well formed are ignored, as the RFC allows: the whole is served then,
/// and the answer is `None`.
pub(crate) fn part(header: Option<&str>, length: u64) -> Result<Option<Range<u64>>, Unsatisfiable> {
    match header.and_then(single) {
        None => Ok(None),
        Some((Some(first), _)) if first >= length => Err(Unsatisfiable),
        Some((Some(first), last)) => {
            Ok(Some(first..last.map_or(length, |last| length.min(last.saturating_add(1)))))
        }
        Some((None, Some(0) | None)) => Err(Unsatisfiable),
        Some((None, Some(_))) if length == 0 => Err(Unsatisfiable),
        Some((None, Some(suffix))) => Ok(Some(length.saturating_sub(suffix)..length)),
    }
}

fn single(header: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (unit, set) = header.split_once('=')?;
    let (first, last) = set.trim().split_once('-')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (first, last) = (number(first)?, number(last)?);
    match (first, last) {
        (None, None) => None,
        (Some(first), Some(last)) if first > last => None,
        both => Some(both),
    }
}

/// `Some(None)` for nothing, `None` for an invalid number. A number that does not fit becomes the largest one.
fn number(text: &str) -> Option<Option<u64>> {
    if text.is_empty() {
        return Some(None);
    }
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| Some(text.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_the_rfc_says() {
        for (header, length, expected) in [
            (None, 10, Ok(None)),
            (Some("bytes=0-0"), 10, Ok(Some(0..1))),
            (Some("bytes=2-4"), 10, Ok(Some(2..5))),
            (Some("bytes=2-"), 10, Ok(Some(2..10))),
            (Some("bytes=0-"), 10, Ok(Some(0..10))),
            (Some("bytes=9-9"), 10, Ok(Some(9..10))),
            (Some("bytes=9-100"), 10, Ok(Some(9..10))),
            (Some("bytes=-3"), 10, Ok(Some(7..10))),
            (Some("bytes=-10"), 10, Ok(Some(0..10))),
            (Some("bytes=-11"), 10, Ok(Some(0..10))),
            (Some("Bytes=1-2"), 10, Ok(Some(1..3))),
            (Some("bytes= 1-2"), 10, Ok(Some(1..3))),
            (Some("bytes=0-99999999999999999999999"), 10, Ok(Some(0..10))),
            (Some("bytes=10-"), 10, Err(Unsatisfiable)),
            (Some("bytes=99999999999999999999999-"), 10, Err(Unsatisfiable)),
            (Some("bytes=-0"), 10, Err(Unsatisfiable)),
            (Some("bytes=0-"), 0, Err(Unsatisfiable)),
            (Some("bytes=-1"), 0, Err(Unsatisfiable)),
            (Some("bytes=4-2"), 10, Ok(None)),
            (Some("bytes=0-1,4-5"), 10, Ok(None)),
            (Some("bytes=-"), 10, Ok(None)),
            (Some("bytes=a-b"), 10, Ok(None)),
            (Some("bytes=1"), 10, Ok(None)),
            (Some("bytes=+1-2"), 10, Ok(None)),
            (Some("items=0-1"), 10, Ok(None)),
            (Some(""), 10, Ok(None)),
        ] {
            assert_eq!(part(header, length), expected, "{header:?} of {length}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_part_lies_inside(header in "bytes=[0-9]{0,3}-[0-9]{0,3}", length in 0_u64..500) {
            if let Ok(Some(part)) = part(Some(&header), length) {
                proptest::prop_assert!(part.start <= part.end && part.end <= length);
            }
        }
    }
}
