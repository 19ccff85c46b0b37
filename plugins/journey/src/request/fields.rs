//! The fields of a body: what `metadata` adds where the body has none, and other names of a field. Errors name what the
//! client wrote.

use garde::Validate;
use gatehouse_sdk::params::{self, came};
use gatehouse_sdk::{InvalidParam, Refusal};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Other names of a field: `customId` is how the buttons of a task spell it, the others are common elsewhere.
const ALIASES: [(&str, &str); 3] =
    [("customId", "custom_id"), ("image_url", "image_urls"), ("mask", "mask_url")];

/// Fields of `metadata` that fill a field of the body. Not `task_id`: the host reads it from the body only.
const TEXTS: [&str; 20] = [
    "prompt",
    "size",
    "version",
    "quality",
    "style",
    "negative_prompt",
    "cref",
    "sref",
    "dref",
    "extra",
    "speed",
    "dimensions",
    "custom_id",
    "direction",
    "mask_url",
    "image_urls",
    "video_type",
    "end_url",
    "animate_mode",
    "motion",
];
/// The same for fields that are no text. Some clients can only write texts into `metadata`.
const VALUES: [&str; 18] = [
    "niji",
    "stylize",
    "chaos",
    "weird",
    "seed",
    "tile",
    "iw",
    "cw",
    "sw",
    "dw",
    "repeat",
    "raw",
    "draft",
    "hd",
    "stop",
    "index",
    "zoom_ratio",
    "batch_size",
];

/// The fields of a request.
pub(crate) struct Fields {
    body: Value,
    /// Paths of `body`, and what the client wrote instead.
    renamed: Vec<(String, String)>,
}

impl Fields {
    /// Reads a body.
    ///
    /// # Errors
    /// It is no object, or its `metadata` is none.
    pub(crate) fn read(body: &Value) -> Result<Self, InvalidParam> {
        let Some(fields) = body.as_object() else {
            return Err(InvalidParam::at(None, format!("expected a JSON object, got {}", came(Some(body)))));
        };
        let mut read = Self { body: Value::Null, renamed: Vec::new() };
        let mut fields = fields.clone();
        read.rename_aliases(&mut fields, "");
        match fields.get("metadata").cloned() {
            None | Some(Value::Null) => {}
            Some(Value::Object(mut metadata)) => {
                read.rename_aliases(&mut metadata, "metadata.");
                read.fill(&mut fields, metadata);
            }
            Some(other) => {
                let problem = format!("expected an object, got {}", came(Some(&other)));
                return Err(InvalidParam::at(Some("metadata"), problem));
            }
        }
        read.body = Value::Object(fields);
        Ok(read)
    }

    /// The fields as `P`.
    ///
    /// # Errors
    /// The first invalid field, as the client wrote it.
    pub(crate) fn params<P>(&self) -> Result<P, Refusal>
    where
        P: DeserializeOwned + Validate,
        P::Context: Default,
    {
        params::read(&self.body).map_err(|invalid| self.invalid(invalid).into())
    }

    /// The same error with the client's own name of the field.
    pub(crate) fn invalid(&self, mut invalid: InvalidParam) -> InvalidParam {
        if let Some(field) = &mut invalid.field {
            *field = self.written(field);
        }
        invalid
    }

    /// How the client wrote a field.
    pub(crate) fn written(&self, field: &str) -> String {
        let found = self.renamed.iter().find_map(|(path, written)| {
            let rest = field.strip_prefix(path.as_str())?;
            (rest.is_empty() || rest.starts_with(['[', '.'])).then(|| format!("{written}{rest}"))
        });
        found.unwrap_or_else(|| field.to_owned())
    }

    pub(crate) fn get(&self, field: &str) -> Option<&Value> {
        self.body.get(field).filter(|value| !value.is_null())
    }

    fn rename_aliases(&mut self, fields: &mut Map<String, Value>, lead: &str) {
        for (alias, field) in ALIASES {
            if !is_absent(fields.get(field)) {
                continue;
            }
            let Some(value) = fields.remove(alias).filter(|value| !value.is_null()) else { continue };
            let is_one = field == "image_urls" && !value.is_array();
            let path = if is_one { format!("{field}[0]") } else { field.to_owned() };
            self.renamed.push((path, format!("{lead}{alias}")));
            fields.insert(field.to_owned(), if is_one { Value::Array(vec![value]) } else { value });
        }
    }

    fn fill(&mut self, fields: &mut Map<String, Value>, metadata: Map<String, Value>) {
        for (name, value) in metadata {
            let is_value = VALUES.contains(&name.as_str());
            if !is_value && !TEXTS.contains(&name.as_str()) || !is_absent(fields.get(&name)) {
                continue;
            }
            self.renamed.push((name.clone(), format!("metadata.{name}")));
            fields.insert(name, if is_value { unquoted(value) } else { value });
        }
    }
}

/// A number or a truth value that stands in quotes.
fn unquoted(value: Value) -> Value {
    let plain = value.as_str().and_then(|text| serde_json::from_str::<Value>(text.trim()).ok());
    match plain {
        Some(plain @ (Value::Bool(_) | Value::Number(_))) => plain,
        _ => value,
    }
}

fn is_absent(value: Option<&Value>) -> bool {
    value.is_none_or(Value::is_null)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, Validate)]
    struct Params {
        #[garde(skip)]
        style: Option<String>,
        #[garde(range(max = 10))]
        stylize: Option<i64>,
        #[garde(inner(length(min = 1)))]
        image_urls: Option<Vec<String>>,
    }

    fn error(body: Value) -> String {
        let fields = match Fields::read(&body) {
            Ok(fields) => fields,
            Err(invalid) => return invalid.to_string(),
        };
        match fields.params::<Params>() {
            Ok(params) => format!("{params:?}"),
            Err(Refusal::Invalid { message, .. }) => message,
            Err(other) => format!("{other:?}"),
        }
    }

    #[test]
    fn metadata_fills_what_the_body_lacks() {
        let read = |body: Value| {
            let params: Params = Fields::read(&body).unwrap().params().unwrap();
            (params.style, params.stylize)
        };
        assert_eq!(
            read(json!({"metadata": {"style": "raw", "stylize": "7"}})),
            (Some("raw".into()), Some(7))
        );
        assert_eq!(
            read(json!({"style": "body", "stylize": null, "metadata": {"style": "raw", "stylize": 7}})),
            (Some("body".into()), Some(7))
        );
        assert_eq!(read(json!({"metadata": null})), (None, None));
        assert_eq!(read(json!({"metadata": {"order": "A-7"}})), (None, None));
    }

    #[test]
    fn errors_name_what_the_client_wrote() {
        for (body, expected) in [
            (json!([]), "expected a JSON object, got an array of 0"),
            (json!({"metadata": "x"}), "`metadata`: expected an object, got the string \"x\""),
            (json!({"stylize": "7"}), "`stylize`: expected an integer, got the string \"7\""),
            (
                json!({"metadata": {"stylize": "many"}}),
                "`metadata.stylize`: expected an integer, got the string \"many\"",
            ),
            (json!({"metadata": {"stylize": "11"}}), "`metadata.stylize`: expected at most 10, got 11"),
            (json!({"image_url": 5}), "`image_url`: expected a string, got 5"),
            (json!({"image_url": ["a", 5]}), "`image_url[1]`: expected a string, got 5"),
            (json!({"metadata": {"image_url": 5}}), "`metadata.image_url`: expected a string, got 5"),
            (json!({"image_urls": [5], "image_url": "x"}), "`image_urls[0]`: expected a string, got 5"),
        ] {
            assert_eq!(error(body.clone()), expected, "{body}");
        }
    }
}
