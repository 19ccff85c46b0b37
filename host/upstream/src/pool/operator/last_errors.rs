//! The last errors of an account, for operators. Pure; bounded by count and bytes.

use std::collections::VecDeque;

use gatehouse_model::UnixMs;

/// Errors that are kept of one account.
const MAX_ERRORS: usize = 5;
/// Bytes of one.
const MAX_BYTES: usize = 300;

/// An error of an account, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountError {
    /// When.
    pub at: UnixMs,
    /// The status or the outage, and what is known of its cause. Never text of a reply's body.
    pub text: String,
}

/// The newest errors, the newest first.
#[derive(Debug, Default)]
pub(crate) struct LastErrors(VecDeque<AccountError>);

impl LastErrors {
    /// Adds one; the oldest beyond the limit is forgotten.
    pub(crate) fn add(&mut self, at: UnixMs, mut text: String) {
        if text.len() > MAX_BYTES {
            text.truncate(text.floor_char_boundary(MAX_BYTES));
        }
        self.0.truncate(MAX_ERRORS - 1);
        self.0.push_front(AccountError { at, text });
    }

    /// Newest first.
    pub(crate) fn all(&self) -> Vec<AccountError> {
        self.0.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_cut() {
        let mut errors = LastErrors::default();
        for number in 0..7 {
            errors.add(UnixMs(number), format!("error {number}"));
        }
        // 299 bytes and a letter of two.
        errors.add(UnixMs(7), format!("{}é and more", "x".repeat(299)));
        let all = errors.all();
        let moments: Vec<u64> = all.iter().map(|error| error.at.0).collect();
        assert_eq!(moments, [7, 6, 5, 4, 3]);
        assert_eq!(all[0].text, "x".repeat(299));
        assert_eq!(all[1].text, "error 6");
    }
}
