//! The schema of the submit body, with the checks of the provider's framework (pydantic v2 in lax mode): all field
//! errors come together, lax values are converted, unknown keys are ignored.
//!
//! Image fields are checked as texts only; `input_image` decodes them.

use serde_json::{Map, Number, Value, json};
use url::Url;

use crate::common::picture::Format;
use crate::context::refusal::field_error;

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

/// Checks a body; all errors are reported together.
pub(crate) fn check(body: &Value) -> Result<SubmitRequest, Vec<Value>> {
    let Value::Object(fields) = body else { return Err(vec![not_an_object(body)]) };
    let mut fields = Fields { fields, field_errors: Vec::new() };
    let prompt = fields.required_text("prompt");
    let images = ["input_image", "input_image_2", "input_image_3", "input_image_4"]
        .into_iter()
        .filter_map(|name| Some((name, fields.text(name)?)))
        .collect();
    let seed = fields.nullable("seed").and_then(|value| fields.integer("seed", value));
    let ratio = fields.ratio();
    let format = fields.format();
    let webhook_url = fields.webhook_url();
    fields.text("webhook_secret");
    let upsampling = fields.flag("prompt_upsampling");
    let tolerance = fields.tolerance();
    if !fields.field_errors.is_empty() {
        return Err(fields.field_errors);
    }
    Ok(SubmitRequest { prompt, images, seed, ratio, format, upsampling, tolerance, webhook_url })
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

impl<'a> Fields<'a> {
    fn wrong(&mut self, name: &str, kind: &str, msg: &str, ctx: Option<Value>) {
        let input = self.fields.get(name).unwrap_or(&Value::Null);
        self.field_errors.push(field_error(kind, json!(["body", name]), msg, input, ctx));
    }

    /// The field, unless it is absent or null.
    fn nullable(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    fn required_text(&mut self, name: &str) -> String {
        match self.fields.get(name) {
            Some(Value::String(text)) => return text.clone(),
            Some(_) => self.wrong(name, "string_type", "Input should be a valid string", None),
            None => {
                let whole = Value::Object(self.fields.clone());
                let loc = json!(["body", name]);
                self.field_errors.push(field_error("missing", loc, "Field required", &whole, None));
            }
        }
        String::new()
    }

    fn text(&mut self, name: &str) -> Option<String> {
        match self.nullable(name)? {
            Value::String(text) => Some(text.clone()),
            _ => {
                self.wrong(name, "string_type", "Input should be a valid string", None);
                None
            }
        }
    }

    /// Lax: whole floats, booleans and decimal texts count as integers.
    fn integer(&mut self, name: &str, value: &Value) -> Option<Number> {
        let (kind, msg) = match value {
            Value::Bool(flag) => return Some(Number::from(u8::from(*flag))),
            Value::Number(number) if !number.is_f64() => return Some(number.clone()),
            Value::Number(number) => match number.as_f64().map(whole) {
                Some(Ok(integer)) => return Some(integer.into()),
                Some(Err(field_error)) => field_error,
                None => ("int_type", "Input should be a valid integer"),
            },
            Value::String(text) => match text.trim().parse::<i64>() {
                Ok(integer) => return Some(integer.into()),
                Err(_) => {
                    ("int_parsing", "Input should be a valid integer, unable to parse string as an integer")
                }
            },
            _ => ("int_type", "Input should be a valid integer"),
        };
        self.wrong(name, kind, msg, None);
        None
    }

    /// Lax: 0, 1 and the usual words count as booleans. Null does not.
    fn flag(&mut self, name: &str) -> bool {
        let read = match self.fields.get(name) {
            None => return false,
            Some(Value::Bool(flag)) => return *flag,
            Some(Value::Number(number)) => number.as_f64().and_then(binary),
            Some(Value::String(text)) => word(text),
            Some(_) => {
                self.wrong(name, "bool_type", "Input should be a valid boolean", None);
                return false;
            }
        };
        if read.is_none() {
            let msg = "Input should be a valid boolean, unable to interpret input";
            self.wrong(name, "bool_parsing", msg, None);
        }
        read.unwrap_or_default()
    }

    fn tolerance(&mut self) -> i64 {
        let name = "safety_tolerance";
        let Some(value) = self.fields.get(name) else { return 2 };
        let Some(number) = self.integer(name, value) else { return 2 };
        let level = number.as_i64().unwrap_or(i64::MAX);
        if level < 0 {
            let msg = "Input should be greater than or equal to 0";
            self.wrong(name, "greater_than_equal", msg, Some(json!({ "ge": 0 })));
        } else if level > 6 {
            let msg = "Input should be less than or equal to 6";
            self.wrong(name, "less_than_equal", msg, Some(json!({ "le": 6 })));
        }
        level
    }

    fn ratio(&mut self) -> Option<(u32, u32)> {
        let name = "aspect_ratio";
        let text = self.text(name)?;
        let Some((width, height)) = sides(&text) else {
            let msg = "Value error, Aspect ratio must be in the format 'width:height'";
            self.wrong(name, "value_error", msg, Some(json!({ "error": {} })));
            return None;
        };
        let (w, h) = (u64::from(width), u64::from(height));
        if w * 3 > h * 7 || h * 3 > w * 7 {
            let msg = "Value error, Aspect ratio must be between 21:9 and 9:21";
            self.wrong(name, "value_error", msg, Some(json!({ "error": {} })));
        }
        Some((width, height))
    }

    fn format(&mut self) -> Format {
        let name = "output_format";
        let Some(value) = self.nullable(name) else { return Format::Png };
        value.as_str().and_then(Format::named).unwrap_or_else(|| {
            let expected = "'jpeg', 'png' or 'webp'";
            let msg = format!("Input should be {expected}");
            self.wrong(name, "enum", &msg, Some(json!({ "expected": expected })));
            Format::Png
        })
    }

    fn webhook_url(&mut self) -> Option<String> {
        let name = "webhook_url";
        let value = self.nullable(name)?;
        let Value::String(text) = value else {
            self.wrong(name, "url_type", "URL input should be a string or URL", None);
            return None;
        };
        if text.chars().count() > MAX_WEBHOOK_CHARS {
            let msg = "URL should have at most 2083 characters";
            self.wrong(name, "url_too_long", msg, Some(json!({ "max_length": MAX_WEBHOOK_CHARS })));
            return None;
        }
        match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => return Some(text.clone()),
            Ok(_) => {
                let schemes = json!({ "expected_schemes": "'http' or 'https'" });
                self.wrong(name, "url_scheme", "URL scheme should be 'http' or 'https'", Some(schemes));
            }
            Err(error) => {
                let (error, empty) = (error.to_string(), text.is_empty());
                let error = if empty { "input is empty".to_owned() } else { error };
                let msg = format!("Input should be a valid URL, {error}");
                self.wrong(name, "url_parsing", &msg, Some(json!({ "error": error })));
            }
        }
        None
    }
}

/// A whole float as an integer, or its error.
fn whole(float: f64) -> Result<i64, (&'static str, &'static str)> {
    if float.fract() != 0.0 {
        let msg = "Input should be a valid integer, got a number with a fractional part";
        return Err(("int_from_float", msg));
    }
    // Printing a whole float gives its digits without a point, which spares a lossy cast.
    format!("{float:.0}").parse().map_err(|_| {
        ("int_parsing_size", "Unable to parse input string as an integer, exceeded maximum size")
    })
}

fn binary(float: f64) -> Option<bool> {
    match whole(float) {
        Ok(0) => Some(false),
        Ok(1) => Some(true),
        _ => None,
    }
}

fn word(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "0" | "f" | "false" | "n" | "no" | "off" => Some(false),
        "1" | "on" | "t" | "true" | "y" | "yes" => Some(true),
        _ => None,
    }
}

/// `W:H`, both above zero.
fn sides(text: &str) -> Option<(u32, u32)> {
    let (width, height) = text.split_once(':')?;
    let side = |text: &str| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|&side: &u32| digits && side > 0)
    };
    Some((side(width)?, side(height)?))
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
