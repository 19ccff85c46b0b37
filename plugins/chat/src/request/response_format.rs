//! `response_format`: free text, any JSON object, or JSON of a schema.

use serde_json::value::RawValue;

use super::InputEstimate;
use gatehouse_text_protocols::check::{Checked, boolean, choice, map, nonempty_string, object, required};
use gatehouse_text_protocols::json::{JsonString, items};
use gatehouse_text_protocols::path::Path;

/// The format of the answer.
#[derive(Debug, Default)]
pub(crate) enum ResponseFormat<'a> {
    #[default]
    Text,
    Object,
    /// The schema, if there is one.
    Schema(Option<&'a RawValue>),
}

impl<'a> ResponseFormat<'a> {
    pub(crate) fn read(
        path: &Path<'_>,
        raw: &'a RawValue,
        estimate: &mut InputEstimate<'_>,
    ) -> Checked<Self> {
        let format = object(path, raw)?;
        let kind = required(path, &format, "type", "`text`, `json_object` or `json_schema`")?;
        match choice(&path.key("type"), kind, &["text", "json_object", "json_schema"])? {
            "text" => return Ok(Self::Text),
            "json_object" => return Ok(Self::Object),
            _ => {}
        }
        let child = path.key("json_schema");
        let described = object(&child, required(path, &format, "json_schema", "an object")?)?;
        nonempty_string(&child.key("name"), required(&child, &described, "name", "a string")?)?;
        if let Some(strict) = described.get("strict") {
            boolean(&child.key("strict"), strict)?;
        }
        let schema = described.get("schema");
        if let Some(schema) = schema {
            map(&child.key("schema"), schema)?;
        }
        // A chat provider's model reads both; a Messages provider is sent the schema alone.
        described.get("description").into_iter().chain(schema).for_each(|raw| estimate.count_raw(raw));
        Ok(Self::Schema(schema))
    }

    /// Whether `json_schema` is asked for without a `schema`.
    pub(crate) fn is_schema_without_schema(&self) -> bool {
        matches!(self, Self::Schema(None))
    }
}

/// The instruction in place of `json_object`, which Messages does not have.
pub(crate) const INSTRUCTION: &str = "Answer with exactly one valid JSON object and nothing else: no \
                                      explanation around it and no Markdown fence.";

/// Whether `modalities` asks for audio.
pub(crate) fn wants_audio(modalities: Option<&RawValue>) -> bool {
    let named = modalities.and_then(items).unwrap_or_default();
    named.into_iter().filter_map(JsonString::of).any(|kind| kind.decoded() == "audio")
}
