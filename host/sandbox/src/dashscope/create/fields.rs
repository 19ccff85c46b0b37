//! The fields of each model: which there are, their types, words and bounds. A field of another model is refused, so that a
//! mistake in a translation is seen.

use serde_json::{Map, Value};

use crate::common::schema::{integer_from, one_of};
use crate::dashscope::faults::Refusal;

const MAX_SEED: i64 = 2_147_483_647;
/// Of Wan 2.7; 2.6 cuts what is too long.
const MAX_PROMPT: usize = 5000;
const MAX_NEGATIVE: usize = 500;
/// What the provider's SDK writes into every input, whatever the model.
const OF_THE_SDK: [&str; 2] = ["extend_prompt", "function"];
const RATIOS: &[&str] = &["16:9", "9:16", "1:1", "4:3", "3:4"];
/// The sizes of Wan 2.5 and 2.6: a star, never an x.
const SIZES: &[&str] = &[
    "1280*720",
    "720*1280",
    "960*960",
    "1088*832",
    "832*1088",
    "1920*1080",
    "1080*1920",
    "1440*1440",
    "1632*1248",
    "1248*1632",
];
const TEMPLATES: &[&str] = &[
    "squish",
    "rotation",
    "poke",
    "inflate",
    "dissolve",
    "melt",
    "icecream",
    "flying",
    "carousel",
    "singleheart",
    "dance1",
    "dance2",
];

/// The models served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    Text26,
    Image26,
    Text27,
    Image27,
}

impl Model {
    /// The model of a body.
    pub(super) fn of(body: &Value) -> Result<Self, Refusal> {
        Ok(match body["model"].as_str() {
            Some("wan2.6-t2v") => Self::Text26,
            Some("wan2.6-i2v" | "wan2.6-i2v-flash") => Self::Image26,
            Some("wan2.7-t2v" | "wan2.7-t2v-2026-04-25") => Self::Text27,
            Some("wan2.7-i2v" | "wan2.7-i2v-2026-04-25") => Self::Image27,
            Some(_) => return Err(Refusal::parameter("Model not exist.")),
            None => return Err(Refusal::parameter("model must be a string")),
        })
    }

    pub(super) fn is_26(self) -> bool {
        matches!(self, Self::Text26 | Self::Image26)
    }

    fn input(self) -> &'static [&'static str] {
        match self {
            Self::Text26 | Self::Text27 => &["prompt", "negative_prompt", "audio_url"],
            Self::Image26 => &["prompt", "negative_prompt", "audio_url", "img_url", "template"],
            Self::Image27 => &["prompt", "negative_prompt", "media"],
        }
    }

    fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Text26 => &["size", "duration", "prompt_extend", "shot_type", "audio", "watermark", "seed"],
            Self::Image26 => {
                &["resolution", "duration", "prompt_extend", "shot_type", "audio", "watermark", "seed"]
            }
            Self::Text27 => &["resolution", "ratio", "duration", "prompt_extend", "watermark", "seed"],
            Self::Image27 => &["resolution", "duration", "prompt_extend", "watermark", "seed"],
        }
    }
}

/// Checks the fields; the sources of media are for `media`.
pub(super) fn check(model: Model, body: &Value) -> Result<(), Refusal> {
    let Value::Object(whole) = body else { return Err(Refusal::parameter("the body must be an object")) };
    known("", whole, &["model", "input", "parameters"])?;
    let Value::Object(input) = &body["input"] else {
        return Err(Refusal::parameter("input must be an object"));
    };
    known("input.", input, &[model.input(), &OF_THE_SDK].concat())?;
    let empty = Map::new();
    let parameters = match &body["parameters"] {
        Value::Object(parameters) => parameters,
        Value::Null => &empty,
        _ => return Err(Refusal::parameter("parameters must be an object")),
    };
    known("parameters.", parameters, model.parameters())?;
    texts(model, input)?;
    values(parameters)
}

fn known(path: &str, fields: &Map<String, Value>, names: &[&str]) -> Result<(), Refusal> {
    match fields.keys().find(|name| !names.contains(&name.as_str())) {
        Some(name) => Err(Refusal::parameter(format!("{path}{name} is not supported by the model"))),
        None => Ok(()),
    }
}

fn texts(model: Model, input: &Map<String, Value>) -> Result<(), Refusal> {
    let text = |name: &str| match input.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(Refusal::parameter(format!("input.{name} must be a string"))),
    };
    text("function")?;
    if input.get("extend_prompt").is_some_and(|value| !value.is_boolean()) {
        return Err(Refusal::parameter("input.extend_prompt must be true or false"));
    }
    let (prompt, negative) = (text("prompt")?, text("negative_prompt")?);
    if matches!(model, Model::Text26 | Model::Text27) && prompt.trim().is_empty() {
        return Err(Refusal::parameter("input.prompt must not be empty"));
    }
    if !model.is_26() && (prompt.chars().count() > MAX_PROMPT || negative.chars().count() > MAX_NEGATIVE) {
        return Err(Refusal::parameter("input.prompt or input.negative_prompt is too long"));
    }
    let template = text("template")?;
    if !template.is_empty() && !TEMPLATES.contains(&template) {
        return Err(Refusal::parameter("input.template is not a known template"));
    }
    Ok(())
}

fn values(parameters: &Map<String, Value>) -> Result<(), Refusal> {
    parameters.iter().try_for_each(|(name, value)| {
        let checked = match name.as_str() {
            "size" => one_of(value, SIZES),
            "resolution" => one_of(value, &["720P", "1080P"]),
            "ratio" => one_of(value, RATIOS),
            "shot_type" => one_of(value, &["single", "multi"]),
            "duration" => integer_from(value, 2, 15),
            "seed" => integer_from(value, 0, MAX_SEED),
            _ if value.is_boolean() => Ok(()),
            _ => Err("must be true or false".to_owned()),
        };
        checked.map_err(|wrong| Refusal::parameter(format!("parameters.{name} {wrong}")))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(body: &Value) -> Option<String> {
        Model::of(body).and_then(|model| check(model, body)).err().map(|refusal| refusal.message)
    }

    #[test]
    fn fields_of_each_model() {
        let text = |input: Value, parameters: Value| json!({"model": "wan2.6-t2v", "input": input, "parameters": parameters});
        let text27 = |input: Value, parameters: Value| json!({"model": "wan2.7-t2v", "input": input, "parameters": parameters});
        let kite = || json!({"prompt": "a kite"});
        #[rustfmt::skip]
        let table = [
            (text(kite(), json!({"size": "1280*720", "duration": 15, "audio": false, "shot_type": "multi", "seed": 0})), None),
            (json!({"model": "wan2.6-t2v", "input": kite()}), None),
            (text27(kite(), json!({"ratio": "3:4", "resolution": "1080P", "duration": 2, "seed": MAX_SEED})), None),
            (json!({"input": kite()}), Some("model must be a string")),
            (json!({"model": "wan9", "input": kite()}), Some("Model not exist.")),
            (json!({"model": "wan2.6-t2v"}), Some("input must be an object")),
            (text(json!({}), json!({})), Some("input.prompt must not be empty")),
            (text(json!({"prompt": "a", "extend_prompt": true, "function": "video-synthesis"}), json!({})), None),
            (text(json!({"prompt": "a", "extend_prompt": "yes"}), json!({})), Some("input.extend_prompt must be true")),
            (text(json!({"prompt": 5}), json!({})), Some("input.prompt must be a string")),
            (text(kite(), json!({"size": "1280x720"})), Some("parameters.size must be one of '1280*720'")),
            (text(kite(), json!({"resolution": "720P"})), Some("parameters.resolution is not supported by the model")),
            (text(kite(), json!({"duration": 1})), Some("parameters.duration must be an integer from 2 to 15")),
            (text(kite(), json!({"duration": 16})), Some("parameters.duration must be an integer from 2 to 15")),
            (text(kite(), json!({"duration": "5"})), Some("parameters.duration must be an integer from 2 to 15")),
            (text(kite(), json!({"seed": MAX_SEED + 1})), Some("parameters.seed must be an integer")),
            (text(kite(), json!({"seed": -1})), Some("parameters.seed must be an integer")),
            (text(kite(), json!({"watermark": 1})), Some("parameters.watermark must be true or false")),
            (text(kite(), json!({"shot_type": "double"})), Some("parameters.shot_type must be one of")),
            (text27(kite(), json!({"shot_type": "single"})), Some("parameters.shot_type is not supported")),
            (text27(kite(), json!({"audio": true})), Some("parameters.audio is not supported")),
            (text27(kite(), json!({"size": "1280*720"})), Some("parameters.size is not supported")),
            (text27(kite(), json!({"resolution": "720p"})), Some("parameters.resolution must be one of")),
            (text27(json!({"prompt": "a".repeat(5001)}), json!({})), Some("input.prompt or input.negative_prompt is too long")),
            (text27(json!({"prompt": "a", "negative_prompt": "a".repeat(501)}), json!({})), Some("input.prompt or")),
            (text(json!({"prompt": "a".repeat(9000)}), json!({})), None),
            (text27(json!({"prompt": "a", "media": []}), json!({})), Some("input.media is not supported by the model")),
            (json!({"model": "wan2.7-i2v", "input": {"media": []}, "parameters": {"ratio": "16:9"}}),
                Some("parameters.ratio is not supported")),
            (json!({"model": "wan2.6-i2v", "input": {"img_url": "x", "template": "fly"}}), Some("input.template is not")),
        ];
        for (body, expected) in table {
            let came = refused(&body);
            match expected {
                None => assert_eq!(came, None, "{body}"),
                Some(begin) => {
                    assert!(came.as_deref().is_some_and(|came| came.starts_with(begin)), "{body}: {came:?}");
                }
            }
        }
    }
}
