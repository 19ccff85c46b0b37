//! Limits and sentences of the Messages protocol that both families apply, and its forms of thinking.

use std::time::Duration;

use gatehouse_sdk::Refusal;

use crate::check::in_provider_words;
use crate::path::Path;

/// Messages in one request.
pub const MAX_MESSAGES: usize = 100_000;
/// Stop sequences in one request.
pub const MAX_STOPS: usize = 4;
/// Image types a Messages provider reads.
pub const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
/// The smallest thinking budget a Messages provider takes, in tokens.
pub const MIN_THINKING_BUDGET: u32 = 1024;
/// Time for one answer: a whole answer of a large model takes minutes.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(600);
/// Ends the alias of a model that is to think.
pub const THINKING_SUFFIX: &str = "-thinking";

/// Without `display` the newer models leave out the text of their thinking.
pub const SUMMARIZED: &str = r#""summarized""#;

/// Thinking with a budget of tokens.
#[must_use]
pub fn thinking_enabled(budget: u64) -> String {
    format!(r#"{{"type":"enabled","budget_tokens":{budget}}}"#)
}

/// Thinking whose depth the model chooses; `display` is JSON.
#[must_use]
pub fn thinking_adaptive(display: &str) -> String {
    format!(r#"{{"type":"adaptive","display":{display}}}"#)
}

/// The budget of a client that asks for thinking by the name of the model: `percent` of the cap, and no less than the
/// provider takes.
#[must_use]
pub fn thinking_budget(cap: u32, percent: u32) -> u32 {
    let share = u64::from(cap) * u64::from(percent) / 100;
    u32::try_from(share).unwrap_or(u32::MAX).max(MIN_THINKING_BUDGET)
}

/// The request ends with an assistant message, and the model does not continue one.
#[must_use]
pub fn no_prefill() -> Refusal {
    in_provider_words(
        "messages",
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    )
}

/// The model takes `temperature` or `top_p`, and the request has both.
#[must_use]
pub fn one_sampling_field_only() -> Refusal {
    in_provider_words(
        "top_p",
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
    )
}

/// The model does not take this sampling field.
#[must_use]
pub fn sampling_field_deprecated(field: &str) -> Refusal {
    in_provider_words(field, format!("`{field}` is deprecated for this model"))
}

/// The request asks for more output tokens than the model writes.
#[must_use]
pub fn over_max_output(field: &str, requested: u64, max_output: u32, model: &str) -> Refusal {
    let rule = "which is the maximum allowed number of output tokens for";
    Path::DOTTED.key(field).sentence(&format!("{requested} > {max_output}, {rule} {model}"))
}
