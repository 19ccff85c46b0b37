//! Rules of single fields that several routes share.

use gatehouse_sdk::params::rule;
use gatehouse_sdk::{InvalidParam, job};
use serde::Serialize;

/// The host keeps 64 KiB of state for a task, which may hold an inpaint request and the modal request that joined it.
const MAX_BYTES: usize = 28 * 1024;

/// `W:H`, both positive.
pub(crate) fn ratio(text: &str, (): &()) -> garde::Result {
    rule(terms(text).is_some(), "expected a ratio such as 16:9")
}

/// The terms of a ratio.
pub(crate) fn terms(text: &str) -> Option<(u32, u32)> {
    let (width, height) = text.split_once(':')?;
    let number = |digits: &str| {
        let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u32>().ok().filter(|&number| is_plain && number > 0)
    };
    Some((number(width)?, number(height)?))
}

/// A tile, counted from 1 as everywhere but on `video`.
pub(crate) fn tile(index: &i64, (): &()) -> garde::Result {
    rule((1..=4).contains(index), "expected a tile from 1 to 4 (only `video` counts tiles from 0)")
}

/// A tile as `video` counts it.
pub(crate) fn film_tile(index: &i64, (): &()) -> garde::Result {
    let expected = "expected a tile from 0 to 3 (`video` counts tiles from 0, every other route from 1)";
    rule((0..=3).contains(index), expected)
}

/// Refuses what does not fit into the task's state. The host has taken large files out; the rest is the prompt, URLs
/// and small inline pictures.
pub(crate) fn check_size(part: &impl Serialize) -> Result<(), InvalidParam> {
    job::check_size(part, MAX_BYTES).map_err(|bytes| {
        let problem = format!(
            "expected texts and URLs of at most {MAX_BYTES} bytes together (large image files do not count), got {bytes}"
        );
        InvalidParam::at(None, problem)
    })
}
