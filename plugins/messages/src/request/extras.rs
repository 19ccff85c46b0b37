//! Fields beyond the specification's: those a provider takes, hints that may be left out, and all others, which
//! are refused.

use gatehouse_sdk::Refusal;
use gatehouse_text_protocols::json::UniqueObject;
use gatehouse_text_protocols::path::Path;
use gatehouse_text_protocols::rules::Rules;

/// Fields that make an answer cheaper or faster and do not change what it may be.
const HINTS: [&str; 5] = ["cache_control", "context_management", "diagnostics", "service_tier", "speed"];

/// A field, and the `anthropic-beta` that a Messages provider takes it with.
const BETAS: [(&str, &str); 1] = [("context_management", "context-management-2025-06-27")];

/// Refuses a field that would change the answer and that the provider does not take.
pub(crate) fn check(
    fields: &UniqueObject<'_>,
    specified: &[&str],
    is_chat: bool,
    rules: &Rules,
) -> Result<(), Refusal> {
    let takes = |name: &str| {
        specified.contains(&name)
            || rules.passes(name)
            || HINTS.contains(&name)
            || name == "output_config" && (is_chat || !asks_for_format(fields))
    };
    match fields.iter().map(|(name, _)| name).find(|name| !takes(name)) {
        None => Ok(()),
        Some(name) => {
            let shown: String = name.chars().take(60).collect();
            Err(Path::DOTTED.key(&shown).sentence("Extra inputs are not permitted"))
        }
    }
}

/// Whether a Messages provider is sent this field of the request.
pub(crate) fn is_sent(name: &str, specified: &[&str], rules: &Rules) -> bool {
    specified.contains(&name) || rules.passes(name)
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
