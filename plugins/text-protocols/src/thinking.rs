//! Thinking as a Messages provider is asked for it.

/// Without `display` the newer models leave out the text of their thinking.
pub const SUMMARIZED: &str = r#""summarized""#;

/// Thinking with a budget of tokens.
#[must_use]
pub fn enabled(budget: u64) -> String {
    format!(r#"{{"type":"enabled","budget_tokens":{budget}}}"#)
}

/// Thinking whose depth the model chooses; `display` is JSON.
#[must_use]
pub fn adaptive(display: &str) -> String {
    format!(r#"{{"type":"adaptive","display":{display}}}"#)
}

/// The budget of a client that asks for thinking by the name of the model: `percent` of the cap, and no less than the
/// provider takes.
#[must_use]
pub fn share_of(cap: u32, percent: u32) -> u32 {
    let share = u64::from(cap) * u64::from(percent) / 100;
    u32::try_from(share).unwrap_or(u32::MAX).max(crate::limits::MIN_THINKING_BUDGET)
}
