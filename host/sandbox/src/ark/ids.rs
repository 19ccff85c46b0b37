//! What the ids of tasks, groups and assets consist of.

use crate::common::clock::iso;

/// Random lower-case letters and digits, as ids end in.
pub(crate) fn random_word(length: usize) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut bytes = vec![0; length];
    if getrandom::fill(&mut bytes).is_err() {
        tracing::error!("no randomness, ids of the sandbox may repeat");
    }
    bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect()
}

/// `20260101000000`, as ids begin with.
pub(crate) fn digits_of_time(now: u64) -> String {
    iso(now).chars().filter(char::is_ascii_digit).collect()
}
