//! `response_format`: free text, any JSON object, or JSON of a schema.

use serde_json::value::RawValue;

use crate::json::Text;
use crate::read::{Checked, Path, filled, flag, needed, object, word};
use crate::request::Tally;

/// What the answer is to look like.
#[derive(Debug, Default)]
pub(crate) enum Format<'a> {
    #[default]
    Text,
    Object,
    /// The schema, if the client wrote one.
    Schema(Option<&'a RawValue>),
}

impl<'a> Format<'a> {
    pub(crate) fn read(path: &Path<'_>, raw: &'a RawValue, tally: &mut Tally<'_>) -> Checked<Self> {
        let format = object(path, raw)?;
        let kind = needed(path, &format, "type", "`text`, `json_object` or `json_schema`")?;
        match word(&path.key("type"), kind, &["text", "json_object", "json_schema"])? {
            "text" => return Ok(Self::Text),
            "json_object" => return Ok(Self::Object),
            _ => {}
        }
        let place = path.key("json_schema");
        let described = object(&place, needed(path, &format, "json_schema", "an object")?)?;
        filled(&place.key("name"), needed(&place, &described, "name", "a string")?)?;
        if let Some(strict) = described.get("strict") {
            flag(&place.key("strict"), strict)?;
        }
        let schema = described.get("schema");
        if let Some(schema) = schema {
            object(&place.key("schema"), schema)?;
            tally.read += schema.get().len() as u64;
        }
        Ok(Self::Schema(schema))
    }

    /// The name a client gave the shape, for words about it.
    pub(crate) fn is_schema_without_schema(&self) -> bool {
        matches!(self, Self::Schema(None))
    }
}

/// What a model that cannot be held to JSON is told instead.
pub(crate) const INSTRUCTION: &str = "Answer with exactly one valid JSON object and nothing else: no \
                                      explanation around it and no Markdown fence.";

/// Whether an array of `modalities` asks for more than text.
pub(crate) fn wants_sound(modalities: Option<&RawValue>) -> bool {
    let named = modalities.and_then(crate::json::items).unwrap_or_default();
    named.into_iter().filter_map(Text::of).any(|word| word.decoded() == "audio")
}
