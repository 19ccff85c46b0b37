//! Names of members in another letter case. A server written in Go takes `"Model"` for `"model"`, and the last of both
//! counts: what was checked and priced would not be what the provider reads.

use gatehouse_sdk::Refusal;

use crate::check::{Checked, asks_for_nothing, instead, is_empty, wrong};
use crate::json::{Object, Raw};
use crate::path::Path;

/// Members of requests in either protocol.
const NAMES: &[&str] = &[
    "allowed_tools",
    "arguments",
    "audio",
    "budget_tokens",
    "cache_control",
    "content",
    "custom",
    "data",
    "description",
    "detail",
    "effort",
    "file",
    "file_data",
    "file_id",
    "filename",
    "format",
    "frequency_penalty",
    "function",
    "function_call",
    "functions",
    "id",
    "image_url",
    "include",
    "include_obfuscation",
    "include_usage",
    "input",
    "input_audio",
    "input_schema",
    "instructions",
    "is_error",
    "json_schema",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "media_type",
    "messages",
    "metadata",
    "modalities",
    "model",
    "moderation",
    "n",
    "name",
    "output_config",
    "parallel_tool_calls",
    "parameters",
    "prediction",
    "presence_penalty",
    "previous_response_id",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "reasoning_content",
    "reasoning_effort",
    "refusal",
    "response_format",
    "role",
    "safety_identifier",
    "schema",
    "seed",
    "service_tier",
    "signature",
    "source",
    "speed",
    "stop",
    "stop_sequences",
    "store",
    "stream",
    "stream_options",
    "strict",
    "system",
    "temperature",
    "text",
    "thinking",
    "thinking_blocks",
    "title",
    "tool_call_id",
    "tool_calls",
    "tool_choice",
    "tool_use_id",
    "tools",
    "top_k",
    "top_logprobs",
    "top_p",
    "type",
    "url",
    "user",
    "user_id",
    "verbosity",
    "web_search_options",
];

/// Refuses a member of a protocol's object whose name is one of the protocol's in another case. Objects whose names
/// are the client's own, such as schemas and metadata, are not asked about.
///
/// # Errors
/// The first such member.
pub fn check_case(path: &Path<'_>, object: &Object<'_>) -> Checked<()> {
    let wrong = |(name, known): (&str, &str)| -> Refusal {
        instead(&path.key(name), &format!("the name `{known}`"), &format!("`{name}`"))
    };
    let found = object.iter().find_map(|(name, _)| Some((name, in_lower_case(name)?)));
    found.map_or(Ok(()), |found| Err(wrong(found)))
}

/// Fields of other protocols, and what stands for each here.
pub type Foreign = [(&'static str, &'static str)];

/// What clients of other protocols write to chat. Left out, the answer would be another, and longer, than the one that was meant.
pub const FOREIGN_TO_CHAT: &Foreign = &[
    ("input", "`messages`"),
    ("instructions", "a message of role `system`"),
    ("max_output_tokens", "`max_completion_tokens`"),
    ("max_tokens_to_sample", "`max_completion_tokens`"),
    ("previous_response_id", "the conversation in `messages`"),
    ("stop_sequences", "`stop`"),
    ("system", "a message of role `system`"),
];

/// The same for responses.
pub const FOREIGN_TO_RESPONSES: &Foreign = &[
    ("audio", "nothing, a response is text"),
    ("functions", "`tools`"),
    ("function_call", "`tool_choice`"),
    ("logprobs", "`top_logprobs`"),
    ("max_completion_tokens", "`max_output_tokens`"),
    ("max_tokens", "`max_output_tokens`"),
    ("messages", "`input`"),
    ("modalities", "nothing, a response is text"),
    ("n", "nothing, a request has one response"),
    ("prediction", "nothing, a response is written from its start"),
    ("reasoning_effort", "`reasoning.effort`"),
    ("response_format", "`text.format`"),
    ("stop", "nothing, a response ends where the model ends it"),
    ("stop_sequences", "nothing, a response ends where the model ends it"),
    ("system", "`instructions`"),
    ("verbosity", "`text.verbosity`"),
    ("web_search_options", "nothing, this model does not search"),
];

/// Foreign fields of which a word is what it says: a text, or how hard to think.
const WORDS: [&str; 7] =
    ["input", "instructions", "messages", "reasoning_effort", "stop", "stop_sequences", "system"];

/// Refuses a field that has another name here and is not passed as it is; empty ones are nothing.
///
/// # Errors
/// The first such field.
pub fn check_foreign(
    path: &Path<'_>,
    object: &Object<'_>,
    foreign: &Foreign,
    is_passed: impl Fn(&str) -> bool,
) -> Checked<()> {
    let is_nothing =
        |(name, raw): (&str, Raw<'_>)| is_empty(raw) || !WORDS.contains(&name) && asks_for_nothing(name, raw);
    for (name, raw) in object.iter().filter(|field| !is_nothing(*field) && !is_passed(field.0)) {
        if let Some((_, own)) = foreign.iter().find(|(known, _)| *known == name) {
            let advice =
                if own.starts_with("nothing") { (*own).to_owned() } else { format!("nothing, use {own}") };
            return Err(wrong(&path.key(name), &advice, Some(raw)));
        }
    }
    Ok(())
}

/// Whether a name is a member of requests in either protocol.
#[must_use]
pub fn is_member(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The protocols' own name that `name` is a variant of.
fn in_lower_case(name: &str) -> Option<&'static str> {
    if name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
        return None;
    }
    let folded: String = name.chars().map(fold).collect();
    NAMES.iter().find(|known| **known == folded).copied()
}

/// As Go's JSON folds letters: two beyond ASCII are the same as ASCII ones.
fn fold(letter: char) -> char {
    match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a provider could read another model, cap or text than the one that was checked.
    #[test]
    fn a_known_name_is_recognised_in_any_case() {
        for (name, known) in [
            ("Model", Some("model")),
            ("MAX_TOKENS", Some("max_tokens")),
            ("me\u{17f}\u{17f}ages", Some("messages")),
            ("max_to\u{212a}ens", Some("max_tokens")),
            ("model", None),
            ("top_k2", None),
            ("maxTokens", None),
            ("Colour", None),
            ("mod\u{e9}l", None),
        ] {
            assert_eq!(in_lower_case(name), known, "{name}");
        }
        for known in NAMES {
            assert_eq!(in_lower_case(&known.to_uppercase()), Some(*known));
        }
    }
}
