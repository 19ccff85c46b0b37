//! The fields: which there are, their types, words and bounds. Any other is refused, so that a mistake in a translation is
//! seen.

use serde_json::{Map, Value};

use crate::common::schema::{integer_from, one_of};
use crate::veo::refusal::Refusal;

const MAX_SEED: i64 = 4_294_967_295;
const PARAMETERS: &[&str] = &[
    "aspectRatio",
    "resolution",
    "durationSeconds",
    "sampleCount",
    "negativePrompt",
    "personGeneration",
    "enhancePrompt",
    "seed",
    "generateAudio",
    "resizeMode",
    "storageUri",
    "compressionQuality",
];

/// Checks all but the media; gives the only instance.
pub(super) fn check(body: &Value) -> Result<&Value, Refusal> {
    let Value::Object(whole) = body else { return Err(Refusal::argument("the body must be an object")) };
    known("", whole, &["instances", "parameters", "labels"])?;
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
    known("parameters.", parameters, PARAMETERS)?;
    parameters.iter().try_for_each(|(name, value)| check_value(name, value))?;
    let seconds = body["parameters"]["durationSeconds"].as_i64().unwrap_or(8);
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

fn check_value(name: &str, value: &Value) -> Result<(), Refusal> {
    let wrong = |what: &str| Err(what.to_owned());
    let checked = match name {
        "aspectRatio" => one_of(value, &["16:9", "9:16"]),
        "resolution" => one_of(value, &["720p", "1080p", "4k"]),
        "durationSeconds" if !matches!(value.as_i64(), Some(4 | 6 | 8)) => wrong("must be 4, 6 or 8"),
        "durationSeconds" => Ok(()),
        "sampleCount" => integer_from(value, 1, 4),
        "seed" => integer_from(value, 0, MAX_SEED),
        // The last one is how an older table writes it.
        "personGeneration" => one_of(value, &["allow_adult", "dont_allow", "disallow"]),
        "resizeMode" => one_of(value, &["pad", "crop", "PAD", "CROP"]),
        "compressionQuality" => one_of(value, &["OPTIMIZED", "LOSSLESS"]),
        "enhancePrompt" if value == false => wrong("cannot be false with Veo 3"),
        "enhancePrompt" | "generateAudio" if value.is_boolean() => Ok(()),
        "negativePrompt" if value.is_string() => Ok(()),
        "storageUri" if value.as_str().is_some_and(|uri| uri.starts_with("gs://")) => Ok(()),
        _ => wrong("has another type"),
    };
    checked.map_err(|wrong| Refusal::argument(format!("parameters.{name} {wrong}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_and_their_bounds() {
        let body = |parameters: Value| json!({"instances": [{"prompt": "a kite"}], "parameters": parameters});
        let all = json!({"aspectRatio": "9:16", "resolution": "4k", "durationSeconds": 8, "sampleCount": 1,
            "negativePrompt": "rain", "enhancePrompt": true});
        let image =
            json!({"instances": [{"prompt": "a", "image": {}}], "parameters": {"resizeMode": "crop"}});
        let references = |parameters: Value| json!({"instances": [{"prompt": "a", "referenceImages": []}], "parameters": parameters});
        #[rustfmt::skip]
        let table = [
            (body(all), true),
            (json!({"instances": [{"prompt": "a kite"}]}), true),
            (body(json!({"seed": MAX_SEED, "generateAudio": false, "storageUri": "gs://b/"})), true),
            (body(json!({"sampleCount": 4, "personGeneration": "disallow"})), true),
            (body(json!({"personGeneration": "dont_allow"})), true),
            (body(json!({"personGeneration": "allow_all"})), false),
            (body(json!({"personGeneration": "allow_adult"})), true),
            (image, true),
            (body(json!({"resizeMode": "pad"})), false),
            (references(json!({})), true),
            (references(json!({"durationSeconds": 6})), false),
            (body(json!({"resolution": "1080p", "durationSeconds": 4})), true),
            (body(json!({"resolution": "4K"})), false),
            (body(json!({"durationSeconds": 5})), false),
            (body(json!({"durationSeconds": "8"})), false),
            (body(json!({"sampleCount": 0})), false),
            (body(json!({"sampleCount": 5})), false),
            (body(json!({"seed": -1})), false),
            (body(json!({"seed": MAX_SEED + 1})), false),
            (body(json!({"enhancePrompt": false})), false),
            (body(json!({"aspectRatio": "1:1"})), false),
            (body(json!({"fps": 24})), false),
            (json!({"instances": [], "parameters": {}}), false),
            (json!({"instances": [{"prompt": " "}]}), false),
            (json!({"instances": [{"prompt": "a", "mask": {}}]}), false),
            (json!({"instances": [{"prompt": "a"}], "labels": {}}), true),
            (json!([]), false),
        ];
        for (body, fits) in table {
            assert_eq!(check(&body).is_ok(), fits, "{body}");
        }
    }
}
