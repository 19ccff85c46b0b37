//! Fields beyond the specification's: those a provider takes, hints that may be left out, and all others, which
//! are refused.

use gatehouse_sdk::Refusal;
use gatehouse_text_protocols::check::asks_for_nothing;
use gatehouse_text_protocols::json::{Raw, UniqueObject};
use gatehouse_text_protocols::path::Path;
use gatehouse_text_protocols::rules::{PASSED, Rules, chooses_tokens};

use super::FIELDS;

/// Fields that make an answer cheaper or faster and do not change what it may be.
const HINTS: [&str; 5] = ["cache_control", "context_management", "diagnostics", "service_tier", "speed"];

/// Fields of a chat completion that are made of the request's own.
const TRANSLATED: [&str; 9] = [
    "max_completion_tokens",
    "parallel_tool_calls",
    "reasoning",
    "reasoning_effort",
    "response_format",
    "stop",
    "stream_options",
    "thinking_budget",
    "user",
];

/// A field, and the `anthropic-beta` that a Messages provider takes it with.
const BETAS: [(&str, &str); 1] = [("context_management", "context-management-2025-06-27")];

/// Refuses a field that would change the answer and that the provider does not take.
pub(crate) fn check(fields: &UniqueObject<'_>, is_chat: bool, rules: &Rules) -> Result<(), Refusal> {
    let takes = |name: &str| {
        FIELDS.contains(&name)
            || rules.passes(name)
            || HINTS.contains(&name)
            || chooses_tokens(name)
            || is_chat && rules.chat_passes(name)
            || name == "output_config" && (is_chat || !asks_for_format(fields))
    };
    match fields.iter().find(|(name, raw)| !takes(name) && !asks_for_nothing(name, raw)) {
        None => Ok(()),
        Some((name, _)) => {
            let shown: String = name.chars().take(60).collect();
            Err(Path::DOTTED.key(&shown).sentence("Extra inputs are not permitted"))
        }
    }
}

/// The fields beyond the specification's that the provider is sent: the model may read them. A chat provider is sent the schema
/// in `output_config`, too.
pub(crate) fn sent<'f, 'a>(
    fields: &'f UniqueObject<'a>,
    is_chat: bool,
    rules: &'f Rules,
) -> impl Iterator<Item = Raw<'a>> + 'f {
    let is_sent = move |name: &str| if is_chat { is_sent_to_chat(name, rules) } else { is_sent(name, rules) };
    let config = if is_chat { fields.object("output_config") } else { None };
    let format = config.and_then(|config| config.object("format"));
    let schema = format.and_then(|format| format.get("schema"));
    let others = fields.iter().filter(move |(name, _)| !FIELDS.contains(name) && is_sent(name));
    others.map(|(_, raw)| raw).chain(schema)
}

/// Whether a Messages provider is sent this field of the request.
pub(crate) fn is_sent(name: &str, rules: &Rules) -> bool {
    FIELDS.contains(&name) || rules.passes(name)
}

/// Whether a chat provider is sent this field as it is. The others are translated, or say nothing there.
pub(crate) fn is_sent_to_chat(name: &str, rules: &Rules) -> bool {
    let is_own = FIELDS.contains(&name) || PASSED.contains(&name) || HINTS.contains(&name);
    !is_own && !TRANSLATED.contains(&name) && rules.chat_passes(name)
}

/// The betas that the fields of a request need.
pub(crate) fn betas<'r>(fields: &'r UniqueObject<'_>, rules: &'r Rules) -> impl Iterator<Item = &'r str> {
    let needed = BETAS.iter().filter(|(name, _)| rules.passes(name) && fields.get(name).is_some());
    needed.map(|(_, beta)| *beta)
}

/// `output_config` is an effort, which is a hint, and a format, which is not.
fn asks_for_format(fields: &UniqueObject<'_>) -> bool {
    fields.object("output_config").is_some_and(|config| config.get("format").is_some())
}
