//! Which fields a provider is sent. The host prices tokens and nothing else, so a field that may cost something
//! besides, or that is not known, is sent only where the model's `pass` lists it.

use serde_json::value::RawValue;

use gatehouse_sdk::Protocol;
use gatehouse_text_protocols::check::{Checked, asks_for_nothing, instead, wrong};
use gatehouse_text_protocols::json::is_null;
use gatehouse_text_protocols::path::Path;
use gatehouse_text_protocols::rules::{self, Rules};

use crate::request::Request;
use crate::request::messages::{Assistant, Message};
use crate::request::response_format::wants_audio;

/// What the field of a request means for its price.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Tokens alone.
    Plain,
    /// It changes what the answer costs or where it is kept, not what it says: left out where it is not passed.
    Hint,
    /// It has a price of its own: refused where it is not passed.
    Priced,
    /// Its price is not known: the same.
    Unknown,
}

/// Expected in place of a field that the provider is not sent.
const NOTHING: &str = "nothing, this model does not take the field";
const PLAIN: [&str; 28] = [
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "model",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "stop",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
];
const HINTS: [&str; 6] =
    ["access_programs", "client_metadata", "metadata", "prompt_cache_options", "service_tier", "store"];
/// Hints of Messages, which only such a provider takes.
const OF_MESSAGES: [&str; 2] = ["cache_control", "context_management"];
/// Fields of a Messages request that are made of chat's own.
const WRITTEN: [&str; 2] = ["output_config", "thinking"];

fn kind_of(name: &str, raw: &RawValue) -> Kind {
    match name {
        "user" | "verbosity" => Kind::Plain,
        "modalities" if !wants_audio(Some(raw)) => Kind::Plain,
        // It asks for less than the account's default may be.
        "store" if raw.get() == "false" => Kind::Plain,
        "audio" | "modalities" | "web_search_options" => Kind::Priced,
        _ if PLAIN.contains(&name) => Kind::Plain,
        _ if HINTS.contains(&name) => Kind::Hint,
        _ => Kind::Unknown,
    }
}

/// Refuses what would change the answer and is not sent.
pub(super) fn check(request: &Request<'_>, rules: &Rules, protocol: Protocol) -> Checked<()> {
    for (name, raw) in request.body.iter() {
        let is_left_out = asks_for_nothing(name, raw)
            || kind_of(name, raw) == Kind::Hint
            || match protocol {
                Protocol::Messages => rules::chooses_tokens(name),
                _ => OF_MESSAGES.contains(&name),
            };
        if !is_left_out && !is_sent(name, raw, rules, protocol) {
            let shown: String = name.chars().take(60).collect();
            return Err(wrong(&Path::BRACKETED.key(&shown), NOTHING, Some(raw)));
        }
    }
    let speaks = |message: &Message<'_>| matches!(message, Message::Assistant(Assistant { audio: true, .. }));
    match request.messages.iter().position(speaks) {
        // It names a sound that the operator's account keeps, whosever it is.
        Some(at) if protocol == Protocol::Chat && !rules.chat_passes("audio") => {
            let messages = Path::BRACKETED.key("messages");
            Err(instead(&messages.index(at).key("audio"), NOTHING, "an object"))
        }
        _ => Ok(()),
    }
}

/// Whether chat completions do not have this field.
pub(super) fn is_unknown(name: &str, raw: &RawValue) -> bool {
    kind_of(name, raw) == Kind::Unknown
}

/// Whether the provider is sent this field, or what stands for it.
pub(super) fn is_sent(name: &str, raw: &RawValue, rules: &Rules, protocol: Protocol) -> bool {
    match (kind_of(name, raw), protocol) {
        (Kind::Plain, _) => true,
        (Kind::Unknown, _) if is_null(raw) => false,
        (Kind::Unknown, Protocol::Messages) => rules.passes(name) && !WRITTEN.contains(&name),
        (Kind::Hint | Kind::Priced, Protocol::Messages) => false,
        (Kind::Hint | Kind::Priced | Kind::Unknown, _) => rules.chat_passes(name),
    }
}

/// Bytes of the unknown fields that are sent: the model may read them.
pub(super) fn unknown_bytes(request: &Request<'_>, rules: &Rules, protocol: Protocol) -> u64 {
    let fields = request.body.iter().filter(|(name, raw)| is_unknown(name, raw));
    let sent = fields.filter(|(name, raw)| is_sent(name, raw, rules, protocol));
    sent.map(|(_, raw)| request.estimate.bytes(raw)).sum()
}
