//! Lines to paste for the first minute, with a key filled in.

use maud::{Markup, html};

use crate::parts::elements::paste;
use crate::request::Facts;

/// The keys in the lines: as they are told to this person.
pub(crate) struct Keys<'k> {
    /// For everything but `OpenAI`'s SDK.
    pub(crate) any: &'k str,
    /// For `OpenAI`'s SDK.
    pub(crate) openai: &'k str,
    /// Whether chat completions come to that key as the SDK expects them. Otherwise a header asks for it.
    pub(crate) is_bare: bool,
}

impl<'k> Keys<'k> {
    /// The keys of sandbox mode where the person may use them, otherwise a name for one.
    pub(crate) fn of(facts: &'k Facts, may_use: bool) -> Self {
        match facts.sandbox.as_ref().filter(|_| may_use) {
            Some(keys) => Self { any: &keys.wrapped.0, openai: &keys.bare.0, is_bare: true },
            None => Self { any: "$KEY", openai: "$KEY", is_bare: false },
        }
    }
}

/// Every recipe; one is open at a time.
pub(crate) fn show(base: &str, keys: &Keys<'_>) -> Markup {
    let Keys { any, openai, is_bare } = keys;
    let header = if *is_bare { "" } else { ", default_headers={\"x-response-format\": \"bare\"}" };
    // Such a key would have the picture in the answer.
    let receipt = if *is_bare && any == openai { " -H 'x-response-format: wrapped'" } else { "" };
    let recipes = [
        (
            "task",
            "A picture with curl",
            format!(
                "KEY={any}\n\
             TASK=$(curl -s {base}/v1/images/generations -H \"Authorization: Bearer $KEY\"{receipt} \\\n  \
             -H 'Content-Type: application/json' \\\n  \
             -d '{{\"model\":\"ctx-pro\",\"prompt\":\"a lighthouse at dawn\",\"size\":\"16:9\"}}' \\\n  \
             | sed -n 's/.*\"task_id\":\"\\([^\"]*\\)\".*/\\1/p')\n\
             curl -s {base}/v1/tasks/$TASK -H \"Authorization: Bearer $KEY\" -H 'Prefer: wait=30'"
            ),
        ),
        (
            "curl",
            "A text with curl",
            format!(
                "curl -s {base}/v1/chat/completions -H \"Authorization: Bearer {any}\" \\\n  \
             -H 'Content-Type: application/json' \\\n  \
             -d '{{\"model\":\"sim-chat\",\"messages\":[{{\"role\":\"user\",\"content\":\"Say hello\"}}]}}'"
            ),
        ),
        (
            "openai",
            "OpenAI SDK, Python",
            format!(
                "from openai import OpenAI\n\n\
             client = OpenAI(base_url=\"{base}/v1\", api_key=\"{openai}\"{header})\n\
             answer = client.chat.completions.create(\n    model=\"sim-chat\",\n    \
             messages=[{{\"role\": \"user\", \"content\": \"Say hello\"}}],\n)\n\
             print(answer.choices[0].message.content)"
            ),
        ),
        (
            "anthropic",
            "Anthropic SDK, Python",
            format!(
                "from anthropic import Anthropic\n\n\
             client = Anthropic(base_url=\"{base}\", api_key=\"{any}\")\n\
             answer = client.messages.create(\n    model=\"lm-sonnet-4-6\", max_tokens=200,\n    \
             messages=[{{\"role\": \"user\", \"content\": \"Say hello\"}}],\n)\n\
             print(answer.content[0].text)"
            ),
        ),
    ];
    html! {
        @for (at, (id, name, text)) in recipes.iter().enumerate() {
            details.recipe name="recipes" open[at == 0] {
                summary { (name) }
                (paste(&format!("recipe-{id}"), name, text))
            }
        }
    }
}
