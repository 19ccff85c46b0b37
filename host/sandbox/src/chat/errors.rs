//! The errors of the chat completions: their codes and words, also for every schema violation.

use serde_json::{Value, json};

use crate::common::schema::{Dialect, Kind, Violation, field_path, quoted};
use crate::text::markers::Marker;
use crate::text::refusal::{ErrorTable, Refusal};

const INVALID: &str = "invalid_request_error";

/// 400 about one parameter.
pub(super) fn invalid(param: &str, message: impl Into<String>) -> Refusal {
    Refusal { param: Some(param.to_owned()), ..bad(message) }
}

/// 400 about the whole request.
pub(super) fn bad(message: impl Into<String>) -> Refusal {
    Refusal::new(400, INVALID, message)
}

/// A parameter the model does not take.
pub(super) fn unsupported(param: &str, advice: &str) -> Refusal {
    let message = format!("Unsupported parameter: '{param}' is not supported with this model.{advice}");
    invalid(param, message).code("unsupported_parameter")
}

pub(super) fn unknown_model(name: &str) -> Refusal {
    let message = format!("The model `{name}` does not exist or you do not have access to it.");
    Refusal::new(404, INVALID, message).code("model_not_found")
}

pub(super) fn unknown_path(method: &str, path: &str) -> Refusal {
    Refusal::new(404, INVALID, format!("Unknown request URL: {method} {path}.")).code("unknown_url")
}

/// A model of vectors is asked for text.
pub(super) fn no_chat_model() -> Refusal {
    let message = "This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to \
                   use v1/completions?";
    Refusal { param: Some("model".to_owned()), ..Refusal::new(404, INVALID, message) }
}

pub(super) fn method(method: &str, path: &str) -> Refusal {
    let message = format!("Not allowed to {method} on {path}.");
    Refusal::new(405, INVALID, message).code("method_not_supported")
}

pub(super) fn internal() -> Refusal {
    let message = "The server had an error while processing your request. Sorry about that!";
    Refusal::new(500, "server_error", message)
}

fn limited(model: Option<&str>) -> Refusal {
    let message = format!(
        "Rate limit reached for {} in organization org-sandbox on requests per min (RPM): Limit 3, Used 3, Requested \
         1. Please try again in 1s.",
        model.unwrap_or("gpt-sim")
    );
    Refusal::new(429, "requests", message).code("rate_limit_exceeded")
}

/// The protocol: its errors here, its schema violations below, the rest in `protocol`.
pub(crate) struct Chat;

impl ErrorTable for Chat {
    fn wrong_key(key: Option<&str>, _: bool) -> Refusal {
        let Some(key) = key else {
            let message = "You didn't provide an API key. You need to provide your API key in an Authorization header \
                           using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).";
            return Refusal::new(401, INVALID, message);
        };
        let shown: String = key.chars().take(8).collect();
        let message = format!(
            "Incorrect API key provided: {shown}********. You can find your API key at \
             https://platform.openai.com/account/api-keys."
        );
        Refusal::new(401, INVALID, message).code("invalid_api_key")
    }

    fn not_declared_json() -> Refusal {
        bad("You must provide a JSON body with the header 'Content-Type: application/json'.")
    }

    fn not_json(error: &serde_json::Error) -> Refusal {
        bad(format!(
            "We could not parse the JSON body of your request. The API expects a JSON payload, but what was sent was \
             not valid JSON: {error}"
        ))
    }

    fn marked(marker: Marker, model: Option<&str>) -> Refusal {
        let overloaded = |status| {
            Refusal::new(status, "server_error", "The server is currently overloaded with other requests.")
        };
        let forbidden = "Project does not have access to this model.";
        let quota = "You exceeded your current quota, please check your plan and billing details.";
        let quota = Refusal::new(429, "insufficient_quota", quota).code("insufficient_quota");
        match marker {
            Marker::Invalid => invalid("messages", "Refused on purpose.").code("invalid_value"),
            Marker::Key => Self::wrong_key(Some("sandbox-key"), true),
            Marker::Billing => Refusal::new(402, "billing_error", "Insufficient balance."),
            Marker::Forbidden => Refusal::new(403, INVALID, forbidden).code("model_not_allowed"),
            Marker::Missing => unknown_model(model.unwrap_or_default()),
            Marker::TooLarge => Refusal::new(413, INVALID, "Request body is too large."),
            Marker::TooMany => limited(model).retries(),
            Marker::TooManyBare => limited(model),
            Marker::Quota | Marker::Credit => quota,
            Marker::Html => Refusal { html: true, ..overloaded(502) },
            Marker::Unavailable => overloaded(503),
            Marker::Late => Refusal::new(504, "server_error", "The request timed out."),
            Marker::Overloaded => overloaded(529),
            _ => internal(),
        }
    }

    fn error_body(refusal: &Refusal, _: &str) -> Value {
        json!({ "error": {
            "message": refusal.message,
            "type": refusal.kind,
            "param": refusal.param,
            "code": refusal.code,
        } })
    }

    fn error_headers(refusal: &Refusal, retry_after_s: u64) -> Vec<(&'static str, String)> {
        let names = [("retry-after", retry_after_s), ("retry-after-ms", retry_after_s * 1000)];
        names.iter().filter(|_| refusal.retries).map(|(name, value)| (*name, value.to_string())).collect()
    }
}

impl Dialect for Chat {
    type Refusal = Refusal;
    const NULL_IS_MISSING: bool = true;
    const TAG_IN_PATH: bool = false;

    fn item(path: &str, at: usize) -> String {
        format!("{path}[{at}]")
    }

    fn refuse(path: &str, violation: Violation<'_>) -> Refusal {
        let (code, message) = match violation {
            Violation::Above(kind, found) => bound(path, kind, true, found),
            Violation::Below(kind, found) => bound(path, kind, false, found),
            Violation::Missing if path == "model" => return bad("you must provide a model parameter"),
            Violation::Missing => {
                ("missing_required_parameter", format!("Missing required parameter: '{path}'."))
            }
            Violation::Pattern(pattern) => (
                "invalid_value",
                format!(
                    "Invalid '{path}': string does not match pattern. Expected a string that matches the pattern \
                     '{pattern}'."
                ),
            ),
            Violation::Tag(tag, words, found) => {
                let path = field_path(path, tag);
                return match found {
                    None | Some(Value::Null) => Self::refuse(&path, Violation::Missing),
                    Some(Value::String(word)) => Self::refuse(&path, Violation::Word(&words, word)),
                    Some(other) => Self::refuse(&path, Violation::Type(&Kind::Text, other)),
                };
            }
            Violation::TooLong(max, length) => (
                "array_above_max_length",
                format!(
                    "Invalid '{path}': array too long. Expected an array with maximum length {max}, but got an array \
                     with length {length} instead."
                ),
            ),
            Violation::TooShort => (
                "empty_array",
                format!(
                    "Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty array \
                     instead."
                ),
            ),
            Violation::Type(..) if path.is_empty() => return bad("The request body must be a JSON object."),
            Violation::Type(kind, found) => {
                let (expected, found) = (expected(kind), kind_of(found));
                let message =
                    format!("Invalid type for '{path}': expected {expected}, but got {found} instead.");
                ("invalid_type", message)
            }
            Violation::Unknown => ("unknown_parameter", format!("Unknown parameter: '{path}'.")),
            Violation::Word(words, found) => {
                let listed = match &quoted(words)[..] {
                    [rest @ .., last] if rest.len() > 1 => format!("{}, and {last}", rest.join(", ")),
                    few => few.join(" and "),
                };
                ("invalid_value", format!("Invalid value: '{found}'. Supported values are: {listed}."))
            }
        };
        invalid(path, message).code(code)
    }
}

fn expected(kind: &Kind) -> &'static str {
    match kind {
        Kind::Flag => "a boolean",
        Kind::Integer(..) => "an integer",
        Kind::List(..) => "an array of objects",
        Kind::Number(..) => "a decimal",
        Kind::Text | Kind::Name(..) | Kind::Word(_) => "a string",
        Kind::TextOr(_, Kind::List(Kind::Text, ..)) => "one of a string or array of strings",
        Kind::TextOr(..) => "one of a string or array of objects",
        Kind::Any | Kind::Map(_) | Kind::Object(_) | Kind::Variants(..) => "an object",
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "an array",
        Value::Bool(_) => "a boolean",
        Value::Null => "null",
        Value::Number(number) if number.is_f64() => "a decimal",
        Value::Number(_) => "an integer",
        Value::Object(_) => "an object",
        Value::String(_) => "a string",
    }
}

/// A number outside its bounds: the code and the message.
fn bound(path: &str, kind: &Kind, is_above: bool, found: &Value) -> (&'static str, String) {
    let at = usize::from(is_above);
    let (name, limit) = match kind {
        Kind::Integer(min, max) => ("integer", [min, max][at].to_string()),
        Kind::Number(min, max) => ("decimal", [min, max][at].to_string()),
        _ => ("number", String::new()),
    };
    let (side, sign) = [("below minimum", ">="), ("above maximum", "<=")][at];
    let message = format!(
        "Invalid '{path}': {name} {side} value. Expected a value {sign} {limit}, but got {found} instead."
    );
    let code = match (name, is_above) {
        ("integer", false) => "integer_below_min_value",
        ("integer", true) => "integer_above_max_value",
        (_, false) => "decimal_below_min_value",
        (_, true) => "decimal_above_max_value",
    };
    (code, message)
}
