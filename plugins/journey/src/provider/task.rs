//! The provider's record of a task, as leniently as its servers differ: nulls, missing fields, numbers as texts.

use gatehouse_sdk::{lenient, source};
use serde::Deserialize;
use serde_json::Value;

use crate::record::Button;

/// What this family reads of it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Task {
    id: Value,
    status: Value,
    progress: Value,
    image_url: Value,
    image_urls: Value,
    video_url: Value,
    video_urls: Value,
    fail_reason: Value,
    prompt: Value,
    prompt_en: Value,
    description: Value,
    properties: Value,
    buttons: Value,
    /// Some servers answer an unknown id with the envelope of a submission.
    code: Value,
}

impl Task {
    pub(crate) fn has_id(&self) -> bool {
        text(&self.id).is_some() || self.id.is_number()
    }

    pub(crate) fn is_envelope(&self) -> bool {
        self.code.is_number() && !self.has_id()
    }

    /// In upper case; empty while there is none.
    pub(crate) fn status(&self) -> String {
        text(&self.status).unwrap_or_default().trim().to_ascii_uppercase()
    }

    pub(crate) fn progress(&self) -> Option<u8> {
        lenient::percent(&self.progress)
    }

    pub(crate) fn fail_reason(&self) -> &str {
        text(&self.fail_reason).unwrap_or_default()
    }

    pub(crate) fn image(&self) -> Option<String> {
        url(&self.image_url)
    }

    pub(crate) fn images(&self) -> Vec<String> {
        urls(&self.image_urls)
    }

    /// Its films, wherever the server names them.
    pub(crate) fn films(&self) -> Vec<String> {
        let listed = urls(&self.video_urls);
        if !listed.is_empty() {
            return listed;
        }
        url(&self.video_url).or_else(|| self.image()).into_iter().collect()
    }

    /// The text of a description.
    pub(crate) fn described(&self) -> Option<&str> {
        let final_prompt = &self.properties["finalPrompt"];
        [&self.prompt, &self.prompt_en, final_prompt].into_iter().find_map(text)
    }

    pub(crate) fn description(&self) -> Option<&str> {
        text(&self.description)
    }

    /// Buttons with an id; the others cannot be pressed.
    pub(crate) fn buttons(&self) -> Vec<Button> {
        let listed = self.buttons.as_array().map(Vec::as_slice).unwrap_or_default();
        listed.iter().filter_map(button).collect()
    }
}

fn button(value: &Value) -> Option<Button> {
    let word = |name: &str| text(&value[name]).unwrap_or_default().to_owned();
    Some(Button {
        custom_id: text(&value["customId"])?.to_owned(),
        emoji: word("emoji"),
        label: word("label"),
        kind: value["type"].as_i64().unwrap_or(2),
        style: value["style"].as_i64().unwrap_or(2),
    })
}

/// A text that is not empty.
fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.trim().is_empty())
}

fn url(value: &Value) -> Option<String> {
    text(value).and_then(source::result)
}

/// `[{url}]` or `[url]`.
fn urls(value: &Value) -> Vec<String> {
    let listed = value.as_array().map(Vec::as_slice).unwrap_or_default();
    listed.iter().filter_map(|entry| url(&entry["url"]).or_else(|| url(entry))).collect()
}
