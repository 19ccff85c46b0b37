//! The schema of the submit body, with the checks of the provider's framework (pydantic v2 in lax mode): all field
//! errors come together, lax values are converted, unknown keys are ignored.
//!
//! Image fields are checked as texts only; `input_image` decodes them.

use image::ImageFormat as Format;
use serde_json::{Map, Number, Value, json};
use url::Url;

use crate::context::refusal::field_error;
use gatehouse_sandbox_files::format_named;

/// The longest webhook address.
const MAX_WEBHOOK_CHARS: usize = 2083;

/// A body that passed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SubmitRequest {
    pub(crate) prompt: String,
    /// Field and content of each input image, in the order of the fields.
    pub(crate) images: Vec<(&'static str, String)>,
    pub(crate) seed: Option<Number>,
    /// Width and height of `aspect_ratio`.
    pub(crate) ratio: Option<(u32, u32)>,
    pub(crate) format: Format,
    pub(crate) upsampling: bool,
    pub(crate) tolerance: i64,
    pub(crate) webhook_url: Option<String>,
}

/// Type, message and context of a field's error.
type FieldError = (&'static str, String, Option<Value>);

/// Checks a body; all errors are reported together.
pub(crate) fn check(body: &Value) -> Result<SubmitRequest, Vec<Value>> {
    let Value::Object(fields) = body else { return Err(vec![not_an_object(body)]) };
    let mut fields = Fields { fields, field_errors: Vec::new() };
    let prompt = fields.read("prompt", text);
    if !fields.fields.contains_key("prompt") {
        let loc = json!(["body", "prompt"]);
        fields.field_errors.push(field_error("missing", loc, "Field required", body, None));
    }
    let images = ["input_image", "input_image_2", "input_image_3", "input_image_4"]
        .into_iter()
        .filter_map(|name| Some((name, fields.nullable(name, text)?)))
        .collect();
    let seed = fields.nullable("seed", integer);
    let ratio = fields.nullable("aspect_ratio", ratio);
    let format = fields.nullable("output_format", format);
    let webhook_url = fields.nullable("webhook_url", webhook_url);
    fields.nullable("webhook_secret", text);
    let upsampling = fields.read("prompt_upsampling", flag).unwrap_or(false);
    let tolerance = fields.read("safety_tolerance", tolerance).unwrap_or(2);
    match prompt {
        Some(prompt) if fields.field_errors.is_empty() => {
            let format = format.unwrap_or(Format::Png);
            Ok(SubmitRequest { prompt, images, seed, ratio, format, upsampling, tolerance, webhook_url })
        }
        _ => Err(fields.field_errors),
    }
}

/// The error of a body that is JSON, or text, but not an object.
pub(crate) fn not_an_object(body: &Value) -> Value {
    let msg = "Input should be a valid dictionary or object to extract fields from";
    field_error("model_attributes_type", json!(["body"]), msg, body, None)
}

/// A body under check.
struct Fields<'a> {
    fields: &'a Map<String, Value>,
    field_errors: Vec<Value>,
}

impl Fields<'_> {
    /// The field, unless it is absent; its error is kept.
    fn read<T>(&mut self, name: &str, read: fn(&Value) -> Result<T, FieldError>) -> Option<T> {
        let value = self.fields.get(name)?;
        let kept = read(value).map_err(|(kind, msg, ctx)| {
            self.field_errors.push(field_error(kind, json!(["body", name]), &msg, value, ctx));
        });
        kept.ok()
    }

    /// The field, unless it is absent or null.
    fn nullable<T>(&mut self, name: &str, read: fn(&Value) -> Result<T, FieldError>) -> Option<T> {
        if self.fields.get(name)?.is_null() { None } else { self.read(name, read) }
    }
}

fn wrong<T>(kind: &'static str, msg: &str) -> Result<T, FieldError> {
    Err((kind, msg.to_owned(), None))
}

fn text(value: &Value) -> Result<String, FieldError> {
    value
        .as_str()
        .map_or_else(|| wrong("string_type", "Input should be a valid string"), |it| Ok(it.to_owned()))
}

/// Lax: whole floats, booleans and decimal texts count as integers.
fn integer(value: &Value) -> Result<Number, FieldError> {
    match value {
        Value::Bool(flag) => Ok(u8::from(*flag).into()),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => whole(float).map(Number::from),
            _ => Ok(number.clone()),
        },
        Value::String(text) => text.trim().parse::<i64>().map(Number::from).or_else(|_| {
            wrong("int_parsing", "Input should be a valid integer, unable to parse string as an integer")
        }),
        _ => wrong("int_type", "Input should be a valid integer"),
    }
}

/// A whole float as an integer.
fn whole(float: f64) -> Result<i64, FieldError> {
    if float.fract() != 0.0 {
        return wrong(
            "int_from_float",
            "Input should be a valid integer, got a number with a fractional part",
        );
    }
    // Printing a whole float gives its digits without a point, which spares a lossy cast.
    format!("{float:.0}").parse().or_else(|_| {
        wrong("int_parsing_size", "Unable to parse input string as an integer, exceeded maximum size")
    })
}

/// Lax: 0, 1 and the usual words count as booleans. Null does not.
fn flag(value: &Value) -> Result<bool, FieldError> {
    let word = match value {
        Value::Bool(flag) => return Ok(*flag),
        Value::Number(number) => {
            number.as_f64().and_then(|float| whole(float).ok()).map_or_else(String::new, |it| it.to_string())
        }
        Value::String(text) => text.to_ascii_lowercase(),
        _ => return wrong("bool_type", "Input should be a valid boolean"),
    };
    match word.as_str() {
        "0" | "f" | "false" | "n" | "no" | "off" => Ok(false),
        "1" | "on" | "t" | "true" | "y" | "yes" => Ok(true),
        _ => wrong("bool_parsing", "Input should be a valid boolean, unable to interpret input"),
    }
}

fn tolerance(value: &Value) -> Result<i64, FieldError> {
    let (kind, word, bound, limit) = match integer(value)?.as_i64().unwrap_or(i64::MAX) {
        level @ 0..=6 => return Ok(level),
        ..0 => ("greater_than_equal", "greater", "ge", 0),
        _ => ("less_than_equal", "less", "le", 6),
    };
    Err((kind, format!("Input should be {word} than or equal to {limit}"), Some(json!({ bound: limit }))))
}

/// `W:H`, both above zero.
fn ratio(value: &Value) -> Result<(u32, u32), FieldError> {
    let side = |text: &str| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|&side: &u32| digits && side > 0)
    };
    let text = text(value)?;
    let sides = text.split_once(':').and_then(|(width, height)| Some((side(width)?, side(height)?)));
    let wrong = |msg: &str| ("value_error", format!("Value error, {msg}"), Some(json!({ "error": {} })));
    let (width, height) = sides.ok_or_else(|| wrong("Aspect ratio must be in the format 'width:height'"))?;
    let (w, h) = (u64::from(width), u64::from(height));
    if w * 3 > h * 7 || h * 3 > w * 7 {
        return Err(wrong("Aspect ratio must be between 21:9 and 9:21"));
    }
    Ok((width, height))
}

fn format(value: &Value) -> Result<Format, FieldError> {
    let expected = "'jpeg', 'png' or 'webp'";
    let wrong = || ("enum", format!("Input should be {expected}"), Some(json!({ "expected": expected })));
    value.as_str().and_then(format_named).ok_or_else(wrong)
}

fn webhook_url(value: &Value) -> Result<String, FieldError> {
    let Value::String(text) = value else {
        return wrong("url_type", "URL input should be a string or URL");
    };
    if text.chars().count() > MAX_WEBHOOK_CHARS {
        let ctx = json!({ "max_length": MAX_WEBHOOK_CHARS });
        return Err(("url_too_long", "URL should have at most 2083 characters".to_owned(), Some(ctx)));
    }
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(text.clone()),
        Ok(_) => {
            let ctx = json!({ "expected_schemes": "'http' or 'https'" });
            Err(("url_scheme", "URL scheme should be 'http' or 'https'".to_owned(), Some(ctx)))
        }
        Err(error) => {
            let error = if text.is_empty() { "input is empty".to_owned() } else { error.to_string() };
            let ctx = json!({ "error": error });
            Err(("url_parsing", format!("Input should be a valid URL, {error}"), Some(ctx)))
        }
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
