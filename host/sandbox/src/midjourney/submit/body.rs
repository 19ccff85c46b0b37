//! Binding: the fields of all submit bodies. A value of the wrong type never reaches a route's code.

use serde::Deserialize;
use serde_json::Value;

use crate::midjourney::refusal::Refusal;

/// The longest `state` and `notifyHook`.
const MAX_STATE: usize = 255;
const MAX_HOOK: usize = 2000;

/// Shape of a blend.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Dimensions {
    Portrait,
    #[default]
    Square,
    Landscape,
}

/// The engine's bot.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Bot {
    #[default]
    MidJourney,
    NijiJourney,
}

impl Bot {
    pub(super) fn name(self) -> &'static str {
        if self == Self::MidJourney { "MID_JOURNEY" } else { "NIJI_JOURNEY" }
    }
}

/// Which of the proxy's own accounts may take a task.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AccountFilter {
    pub(super) modes: Option<Vec<String>>,
}

/// Every field of every submit; a route reads its own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Body {
    pub(super) prompt: Option<String>,
    pub(super) base64_array: Option<Vec<String>>,
    pub(super) dimensions: Option<Dimensions>,
    pub(super) base64: Option<String>,
    pub(super) link: Option<String>,
    pub(super) task_id: Option<String>,
    pub(super) action: Option<String>,
    pub(super) index: Option<i64>,
    pub(super) content: Option<String>,
    pub(super) custom_id: Option<String>,
    pub(super) enable_remix: Option<bool>,
    pub(super) mask_base64: Option<String>,
    pub(super) image: Option<String>,
    pub(super) end_image: Option<String>,
    pub(super) motion: Option<String>,
    pub(super) r#loop: Option<bool>,
    pub(super) video_type: Option<String>,
    pub(super) batch_size: Option<i64>,
    pub(super) state: Option<String>,
    pub(super) notify_hook: Option<String>,
    pub(super) bot_type: Option<Bot>,
    pub(super) account_filter: Option<AccountFilter>,
}

impl Body {
    pub(super) fn bind(sent: &Value) -> Result<Self, Refusal> {
        if !sent.is_object() {
            return Err(Refusal::binding("The JSON value could not be converted to an object. Path: $"));
        }
        let body = Self::deserialize(sent).map_err(|error| Refusal::binding(&error.to_string()))?;
        let over =
            |text: &Option<String>, most| text.as_ref().is_some_and(|text| text.chars().count() > most);
        if over(&body.state, MAX_STATE) || over(&body.notify_hook, MAX_HOOK) {
            return Err(Refusal::binding("The field state or notifyHook is too long."));
        }
        Ok(body)
    }

    /// The prompt, unless it is blank.
    pub(super) fn prompt(&self) -> Result<&str, Refusal> {
        given(&self.prompt).ok_or_else(|| Refusal::invalid("prompt不能为空"))
    }

    pub(super) fn task_id(&self) -> Result<&str, Refusal> {
        given(&self.task_id).ok_or_else(|| Refusal::invalid("taskId不能为空"))
    }
}

/// A text that is there and not blank.
pub(super) fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.trim().is_empty())
}
