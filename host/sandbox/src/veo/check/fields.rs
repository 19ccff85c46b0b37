//! The fields of each dialect: which there are, their types, words and bounds. A field of the other dialect is refused, so
//! that a mistake in a translation is seen.

use serde_json::{Map, Value};

use crate::common::schema::quoted;
use crate::veo::record::Dialect;
use crate::veo::refusal::Refusal;

const MAX_SEED: i64 = 4_294_967_295;
const COMMON: &[&str] = &[
    "aspectRatio",
    "resolution",
    "durationSeconds",
    "sampleCount",
    "negativePrompt",
    "personGeneration",
    "enhancePrompt",
];
const OF_VERTEX: &[&str] = &["seed", "generateAudio", "resizeMode", "storageUri", "compressionQuality"];

/// Checks all but the media; gives the only instance.
pub(super) fn check(dialect: Dialect, body: &Value) -> Result<&Value, Refusal> {
    let Value::Object(whole) = body else { return Err(Refusal::argument("the body must be an object")) };
    let other = if dialect == Dialect::Vertex { "labels" } else { "webhookConfig" };
    known("", whole, &["instances", "parameters", other])?;
    let Some([instance]) = body["instances"].as_array().map(Vec::as_slice) else {
        return Err(Refusal::argument("instances must be a list of one"));
    };
    let Value::Object(fields) = instance else {
        return Err(Refusal::argument("instances[0] must be an object"));
    };
    known("instances[0].", fields, &["prompt", "image", "lastFrame", "video", "referenceImages"])?;
    match &instance["prompt"] {
        Value::String(text) if !text.trim().is_empty() => {}
        _ => return Err(Refusal::argument("instances[0].prompt must be a text")),
    }
    let empty = Map::new();
    let parameters = match &body["parameters"] {
        Value::Object(parameters) => parameters,
        Value::Null => &empty,
        _ => return Err(Refusal::argument("parameters must be an object")),
    };
    let names: Vec<&str> = match dialect {
        Dialect::Vertex => [COMMON, OF_VERTEX].concat(),
        Dialect::Gemini => COMMON.to_vec(),
    };
    known("parameters.", parameters, &names)?;
    parameters.iter().try_for_each(|(name, value)| check_value(dialect, name, value))?;
    let is_large = matches!(body["parameters"]["resolution"].as_str(), Some("1080p" | "4k"));
    let seconds = body["parameters"]["durationSeconds"].as_i64().unwrap_or(8);
    if dialect == Dialect::Gemini && is_large && seconds != 8 {
        return Err(Refusal::argument("parameters.durationSeconds must be 8 for 1080p and 4k"));
    }
    if fields.contains_key("referenceImages") && seconds != 8 {
        return Err(Refusal::argument(
            "parameters.durationSeconds must be 8 with instances[0].referenceImages",
        ));
    }
    if fields.get("image").is_none() && parameters.contains_key("resizeMode") {
        return Err(Refusal::argument("parameters.resizeMode needs an image"));
    }
    Ok(instance)
}

pub(super) fn known(path: &str, fields: &Map<String, Value>, names: &[&str]) -> Result<(), Refusal> {
    match fields.keys().find(|name| !names.contains(&name.as_str())) {
        Some(name) => {
            Err(Refusal::argument(format!("Unknown name \"{name}\" at '{path}': Cannot find field.")))
        }
        None => Ok(()),
    }
}

fn check_value(dialect: Dialect, name: &str, value: &Value) -> Result<(), Refusal> {
    let is_vertex = dialect == Dialect::Vertex;
    let word = |words: &[&str]| match value.as_str() {
        Some(word) if words.contains(&word) => Ok(()),
        _ => Err(Refusal::argument(format!("parameters.{name} must be one of {}", quoted(words).join(", ")))),
    };
    let integer = |least: i64, most: i64| match value.as_i64() {
        Some(number) if (least..=most).contains(&number) => Ok(()),
        _ => Err(Refusal::argument(format!("parameters.{name} must be an integer from {least} to {most}"))),
    };
    match name {
        "aspectRatio" => word(&["16:9", "9:16"]),
        "resolution" => word(&["720p", "1080p", "4k"]),
        "durationSeconds" if !matches!(value.as_i64(), Some(4 | 6 | 8)) => {
            Err(Refusal::argument("parameters.durationSeconds must be 4, 6 or 8"))
        }
        "durationSeconds" => Ok(()),
        "sampleCount" => integer(1, if is_vertex { 4 } else { 1 }),
        "seed" => integer(0, MAX_SEED),
        "personGeneration" if is_vertex => word(&["allow_adult", "disallow"]),
        "personGeneration" => word(&["allow_all", "allow_adult", "dont_allow"]),
        "resizeMode" => word(&["pad", "crop", "PAD", "CROP"]),
        "compressionQuality" => word(&["OPTIMIZED", "LOSSLESS"]),
        "enhancePrompt" if value == false => {
            Err(Refusal::argument("parameters.enhancePrompt cannot be false with Veo 3"))
        }
        "enhancePrompt" | "generateAudio" if value.is_boolean() => Ok(()),
        "negativePrompt" if value.is_string() => Ok(()),
        "storageUri" if value.as_str().is_some_and(|uri| uri.starts_with("gs://")) => Ok(()),
        _ => Err(Refusal::argument(format!("parameters.{name} has another type"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_of_each_dialect() {
        let body = |parameters: Value| json!({"instances": [{"prompt": "a kite"}], "parameters": parameters});
        let all = json!({"aspectRatio": "9:16", "resolution": "4k", "durationSeconds": 8, "sampleCount": 1,
            "negativePrompt": "rain", "enhancePrompt": true});
        let image =
            json!({"instances": [{"prompt": "a", "image": {}}], "parameters": {"resizeMode": "crop"}});
        let references = |parameters: Value| json!({"instances": [{"prompt": "a", "referenceImages": []}], "parameters": parameters});
        #[rustfmt::skip]
        let table = [
            (body(all), true, true),
            (json!({"instances": [{"prompt": "a kite"}]}), true, true),
            (body(json!({"seed": MAX_SEED, "generateAudio": false, "storageUri": "gs://b/"})), true, false),
            (body(json!({"sampleCount": 4, "personGeneration": "disallow"})), true, false),
            (body(json!({"personGeneration": "dont_allow"})), false, true),
            (body(json!({"personGeneration": "allow_adult"})), true, true),
            (image, true, false),
            (body(json!({"resizeMode": "pad"})), false, false),
            (references(json!({})), true, true),
            (references(json!({"durationSeconds": 6})), false, false),
            (body(json!({"resolution": "1080p", "durationSeconds": 4})), true, false),
            (body(json!({"resolution": "4K"})), false, false),
            (body(json!({"durationSeconds": 5})), false, false),
            (body(json!({"durationSeconds": "8"})), false, false),
            (body(json!({"sampleCount": 0})), false, false),
            (body(json!({"sampleCount": 5})), false, false),
            (body(json!({"seed": -1})), false, false),
            (body(json!({"seed": MAX_SEED + 1})), false, false),
            (body(json!({"enhancePrompt": false})), false, false),
            (body(json!({"aspectRatio": "1:1"})), false, false),
            (body(json!({"fps": 24})), false, false),
            (json!({"instances": [], "parameters": {}}), false, false),
            (json!({"instances": [{"prompt": " "}]}), false, false),
            (json!({"instances": [{"prompt": "a", "mask": {}}]}), false, false),
            (json!({"instances": [{"prompt": "a"}], "labels": {}}), true, false),
            (json!([]), false, false),
        ];
        for (body, vertex, gemini) in table {
            assert_eq!(check(Dialect::Vertex, &body).is_ok(), vertex, "vertex {body}");
            assert_eq!(check(Dialect::Gemini, &body).is_ok(), gemini, "gemini {body}");
        }
    }
}
