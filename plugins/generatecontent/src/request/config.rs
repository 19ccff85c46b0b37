//! `generationConfig`: how the model writes, how much, and how it thinks before.

use gatehouse_sdk::Refusal;
use gatehouse_text_protocols::json::{Object, Writer};

use super::Model;
use super::schema::Schemas;

/// Google's budget for an effort, for models that know no levels, and its level.
const EFFORTS: [(&str, u32, &str); 6] = [
    ("minimal", 512, "minimal"),
    ("low", 1024, "low"),
    ("medium", 8192, "medium"),
    ("high", 24_576, "high"),
    ("xhigh", 24_576, "high"),
    ("max", 24_576, "high"),
];
/// Fields that differ in their name alone.
const SAME: [(&str, &str); 4] = [
    ("temperature", "temperature"),
    ("top_p", "topP"),
    ("top_k", "topK"),
    ("stop_sequences", "stopSequences"),
];

/// Writes it into `out`; whether the client reads the model's thoughts. `room` is what a schema may still be written out as.
pub(super) fn write(
    body: &Object<'_>,
    model: Model<'_>,
    room: &mut usize,
    out: &mut Writer,
) -> Result<bool, Refusal> {
    let mut config = Writer::new(256);
    if let Some(cap) = body.get("max_tokens") {
        config.integer("maxOutputTokens", cap);
    }
    for (own, theirs) in SAME {
        config.optional(theirs, body.get(own));
    }
    let asked = body.object("output_config").unwrap_or_default();
    if let Some(schema) = asked.object("format").and_then(|format| format.get("schema")) {
        config.string("responseMimeType", "application/json");
        config.member("responseSchema", &Schemas::clean(schema, room, "output_config.format.schema")?);
    }
    let thinking = body.object("thinking").unwrap_or_default();
    let effort = asked.text("effort");
    let (thinks, thoughts) = thoughts(&thinking, effort.as_deref(), model);
    if let Some(thoughts) = thoughts {
        config.member("thinkingConfig", &thoughts);
    }
    out.member("generationConfig", &config.done());
    Ok(thinks)
}

/// Whether the client reads thoughts, and `thinkingConfig`, if it asks for anything of it.
fn thoughts(thinking: &Object<'_>, effort: Option<&str>, model: Model<'_>) -> (bool, Option<String>) {
    let kind = thinking.text("type").unwrap_or_default();
    let thinks = matches!(kind.as_ref(), "enabled" | "adaptive");
    let mut out = Writer::new(96);
    let budget = thinking.unsigned("budget_tokens").filter(|_| kind == "enabled");
    let row = |effort: &str| EFFORTS.into_iter().find(|(name, ..)| *name == effort);
    match (kind.as_ref(), budget, effort.and_then(row)) {
        ("disabled", ..) if model.can_stop_thinking() => out.member("thinkingBudget", "0"),
        ("disabled", ..) => return (false, None),
        (_, Some(budget), _) => {
            out.member("thinkingBudget", &budget.min(model.largest_budget()).to_string());
        }
        (_, None, Some((_, budget, _))) if model.is_early() => {
            out.member("thinkingBudget", &budget.to_string());
        }
        (_, None, Some((.., level))) => out.string("thinkingLevel", level),
        // The model chooses how deep.
        ("adaptive", None, None) if model.is_early() => out.member("thinkingBudget", "-1"),
        _ if !thinks => return (false, None),
        _ => {}
    }
    if thinks {
        out.member("includeThoughts", "true");
    }
    (thinks, Some(out.done()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Without it a model is asked for what its generation does not know, and refuses the request.
    #[test]
    fn thinking_is_asked_for_as_the_model_knows_it() {
        for (upstream, thinking, effort, expected) in [
            ("gemini-2.5-flash", json!({}), None, None),
            (
                "gemini-2.5-flash",
                json!({"type": "enabled", "budget_tokens": 2000}),
                None,
                Some(json!({"thinkingBudget": 2000, "includeThoughts": true})),
            ),
            (
                "models/gemini-2.5-flash-lite",
                json!({"type": "enabled", "budget_tokens": 24_577}),
                Some("low"),
                Some(json!({"thinkingBudget": 24_576, "includeThoughts": true})),
            ),
            (
                "gemini-2.5-pro",
                json!({"type": "enabled", "budget_tokens": 32_768}),
                None,
                Some(json!({"thinkingBudget": 32_768, "includeThoughts": true})),
            ),
            (
                "gemini-2.5-pro",
                json!({"type": "enabled", "budget_tokens": 100_000}),
                None,
                Some(json!({"thinkingBudget": 32_768, "includeThoughts": true})),
            ),
            (
                "gemini-2.5-pro",
                json!({"type": "adaptive"}),
                None,
                Some(json!({"thinkingBudget": -1, "includeThoughts": true})),
            ),
            (
                "gemini-2.5-pro",
                json!({"type": "adaptive"}),
                Some("high"),
                Some(json!({"thinkingBudget": 24576, "includeThoughts": true})),
            ),
            ("gemini-2.5-flash", json!({"type": "disabled"}), None, Some(json!({"thinkingBudget": 0}))),
            ("gemini-2.5-pro", json!({"type": "disabled"}), None, None),
            (
                "gemini-3-pro-preview",
                json!({"type": "adaptive"}),
                Some("medium"),
                Some(json!({"thinkingLevel": "medium", "includeThoughts": true})),
            ),
            (
                "gemini-3-pro-preview",
                json!({"type": "adaptive"}),
                None,
                Some(json!({"includeThoughts": true})),
            ),
            ("gemini-3-pro-preview", json!({}), Some("low"), Some(json!({"thinkingLevel": "low"}))),
            ("gemini-3-flash", json!({"type": "disabled"}), Some("low"), None),
        ] {
            let text = thinking.to_string();
            let thinking = Object::parse(&text).expect("an object");
            let (thinks, found) = thoughts(&thinking, effort, Model { name: upstream });
            let found: Option<Value> = found.map(|json| serde_json::from_str(&json).expect("JSON"));
            assert_eq!(found, expected, "{upstream} {text} {effort:?}");
            assert_eq!(thinks, text.contains("enabled") || text.contains("adaptive"), "{text}");
        }
    }
}
