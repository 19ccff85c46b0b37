//! Why an answer ended, in the words of each server, as one of the protocol's own words: strict clients read no others. An
//! answer that its server broke off is a failure, whatever it is called.

/// What a reason means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// One of the protocol's.
    Standard,
    /// Another word for it.
    Means(&'static str),
    /// The server did not finish.
    Failed,
}

/// The protocol's own.
const STANDARD: [&str; 5] = ["stop", "length", "tool_calls", "content_filter", "function_call"];
/// The answer is not whole, and nobody asked for that: DeepSeek, OpenRouter, vLLM, Gemini.
const FAILED: [&str; 9] = [
    "insufficient_system_resource",
    "abort",
    "aborted",
    "unexpected_tool_call",
    "cancelled",
    "canceled",
    "timeout",
    "overloaded",
    "interrupted",
];
/// What is in every other word for that: Z.ai, Mistral, Gemini.
const FAILED_PARTS: [&str; 8] =
    ["error", "fail", "exception", "malformed", "unavailable", "cancel", "timeout", "time_limit"];
/// Cut by a limit: Mistral, Cohere, Gemini, Anthropic, and the names of the other interfaces.
const CUT: [&str; 9] = [
    "max_tokens",
    "model_length",
    "max_length",
    "model_context_window_exceeded",
    "max_output_tokens",
    "max_completion_tokens",
    "context_length_exceeded",
    "token_limit",
    "length_limit",
];
/// Held back: Gemini, Z.ai, Cohere, Anthropic, Bedrock.
const FILTERED: [&str; 14] = [
    "safety",
    "recitation",
    "prohibited_content",
    "blocklist",
    "spii",
    "sensitive",
    "error_toxic",
    "refusal",
    "content_filtered",
    "guardrail_intervened",
    "image_safety",
    "moderation",
    "policy_violation",
    "blocked",
];
const CALLED: [&str; 3] = ["tool_use", "tool_call", "function_calls"];

/// The meaning of a reason. A word that nobody knows is an end like any other.
pub(super) fn read(reason: &str) -> Reason {
    if STANDARD.contains(&reason) {
        return Reason::Standard;
    }
    let lower = plain(reason);
    // Gemini: `function_call_filter: MALFORMED_FUNCTION_CALL`.
    let plain = lower.rsplit(": ").next().unwrap_or_default();
    match plain {
        plain if FAILED.contains(&plain) => Reason::Failed,
        plain if CUT.contains(&plain) => Reason::Means("length"),
        plain if FILTERED.contains(&plain) => Reason::Means("content_filter"),
        plain if CALLED.contains(&plain) => Reason::Means("tool_calls"),
        plain if FAILED_PARTS.iter().any(|part| plain.contains(part)) => Reason::Failed,
        plain => {
            Reason::Means(STANDARD.into_iter().find(|known| *known == plain).unwrap_or_else(|| guess(plain)))
        }
    }
}

/// Whether an answer of either protocol ended because its server did not finish.
pub(super) fn is_failed(reason: &str) -> bool {
    read(reason) == Reason::Failed
}

/// What a word that nobody knows says of itself. Any other is an end.
fn guess(plain: &str) -> &'static str {
    let has = |parts: &[&str]| parts.iter().any(|part| plain.contains(part));
    if has(&["length", "max_tokens", "max_output", "token_limit"]) {
        "length"
    } else if has(&["filter", "safety", "policy"]) {
        "content_filter"
    } else {
        "stop"
    }
}

/// A reason of a message that is in other words than those of the Messages protocol, in its words. Whatever is known to no
/// protocol stays: it may be newer.
pub(super) fn of_messages(reason: &str) -> Option<&'static str> {
    const OWN: [&str; 7] = [
        "end_turn",
        "max_tokens",
        "stop_sequence",
        "tool_use",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
    ];
    if OWN.contains(&reason) {
        return None;
    }
    let plain = plain(reason);
    if let Some(own) = OWN.into_iter().find(|own| *own == plain) {
        return Some(own);
    }
    let standard = match read(&plain) {
        Reason::Standard => plain.as_str(),
        Reason::Means(standard) => standard,
        Reason::Failed => return None,
    };
    match standard {
        "length" => Some("max_tokens"),
        "tool_calls" | "function_call" => Some("tool_use"),
        "content_filter" => Some("refusal"),
        _ => {
            ["", "stop", "eos", "eos_token", "complete", "completed"].contains(&&*plain).then_some("end_turn")
        }
    }
}

/// A reason in the letters that all words here have.
fn plain(reason: &str) -> String {
    reason.trim().to_ascii_lowercase().replace('-', "_")
}

/// Whether a word stands for none: the answer goes on.
pub(super) fn says_nothing(reason: &str) -> bool {
    matches!(plain(reason).as_str(), "" | "null" | "none")
}

/// Whether a JSON value is anything but `null` or one of the protocol's words.
pub(super) fn is_odd(value: &str) -> bool {
    let text = value.strip_prefix('"').and_then(|text| text.split('"').next());
    text.is_some_and(|text| !text.is_empty() && !STANDARD.contains(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_servers_word_has_a_meaning() {
        for (reason, meaning) in [
            ("stop", Reason::Standard),
            ("STOP", Reason::Means("stop")),
            ("eos", Reason::Means("stop")),
            ("COMPLETE", Reason::Means("stop")),
            ("end_turn", Reason::Means("stop")),
            ("MAX_TOKENS", Reason::Means("length")),
            ("model_length", Reason::Means("length")),
            ("SAFETY", Reason::Means("content_filter")),
            ("sensitive", Reason::Means("content_filter")),
            ("TOOL_CALL", Reason::Means("tool_calls")),
            ("tool-calls", Reason::Means("tool_calls")),
            ("content-filter", Reason::Means("content_filter")),
            ("guardrail_intervened", Reason::Means("content_filter")),
            ("max_output_tokens", Reason::Means("length")),
            ("length_capped", Reason::Means("length")),
            ("MAX_OUTPUT_REACHED", Reason::Means("length")),
            ("output_filtered", Reason::Means("content_filter")),
            ("unknown", Reason::Means("stop")),
            ("server_error", Reason::Failed),
            ("engine_error", Reason::Failed),
            ("upstream_error", Reason::Failed),
            ("generation-failed", Reason::Failed),
            ("MALFORMED_RESPONSE", Reason::Failed),
            ("ERROR_TOXIC", Reason::Means("content_filter")),
            ("interrupted", Reason::Failed),
            ("function_call_filter: MALFORMED_FUNCTION_CALL", Reason::Failed),
            ("insufficient_system_resource", Reason::Failed),
            ("network_error", Reason::Failed),
            ("USER_CANCEL", Reason::Failed),
            ("TIME_LIMIT", Reason::Failed),
        ] {
            assert_eq!(read(reason), meaning, "{reason}");
        }
        for (value, expected) in [("null", false), ("\"stop\"}", false), ("\"\"", false), ("\"eos\",", true)]
        {
            assert_eq!(is_odd(value), expected, "{value}");
        }
    }
}
