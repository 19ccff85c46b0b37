//! The errors of the Messages API: their kinds and words, also for every schema violation.

use std::fmt::Display;

use serde_json::{Value, json};

use crate::common::schema::{Dialect, Kind, Violation, quoted};
use crate::text::markers::Marker;
use crate::text::refusal::{ErrorTable, Refusal};

pub(super) fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(400, "invalid_request_error", message)
}

/// 400 about one value.
pub(super) fn wrong(path: &str, message: &str) -> Refusal {
    invalid(if path.is_empty() { message.to_owned() } else { format!("{path}: {message}") })
}

pub(super) fn unknown_word(path: &str, words: &[&str]) -> Refusal {
    let listed = match &quoted(words)[..] {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        few => few.concat(),
    };
    wrong(path, &format!("Input should be {listed}"))
}

pub(super) fn not_found(what: &str) -> Refusal {
    Refusal::new(404, "not_found_error", what)
}

pub(super) fn internal() -> Refusal {
    Refusal::new(500, "api_error", "Internal server error")
}

/// The protocol: its errors here, its schema violations below, the rest in `protocol`.
pub(crate) struct Messages;

impl ErrorTable for Messages {
    fn wrong_key(key: Option<&str>, is_bearer: bool) -> Refusal {
        let message = match key {
            None => "x-api-key header is required",
            Some(_) if is_bearer => "Invalid bearer token",
            Some(_) => "invalid x-api-key",
        };
        Refusal::new(401, "authentication_error", message)
    }

    fn not_declared_json() -> Refusal {
        invalid("content-type: Input should be 'application/json'")
    }

    fn not_json(error: &serde_json::Error) -> Refusal {
        invalid(format!("The request body is not valid JSON: {error}"))
    }

    fn marked(marker: Marker, model: Option<&str>) -> Refusal {
        let limited = "This request would exceed your organization's rate limit. Please try again later.";
        let limited = Refusal::new(429, "rate_limit_error", limited);
        let no_credit = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to \
                         upgrade or purchase credits.";
        let forbidden = "Your API key does not have permission to use the specified resource.";
        match marker {
            Marker::Invalid => invalid("messages: the request was refused on purpose"),
            Marker::Credit => invalid(no_credit),
            Marker::Key => Self::wrong_key(Some(""), false),
            Marker::Billing => Refusal::new(402, "billing_error", "There is a problem with your billing."),
            Marker::Forbidden => Refusal::new(403, "permission_error", forbidden),
            Marker::Missing => not_found(&format!("model: {}", model.unwrap_or_default())),
            Marker::TooLarge => Refusal::new(413, "request_too_large", "Request exceeds the maximum size"),
            Marker::TooMany => limited.retries(),
            Marker::TooManyBare => limited,
            Marker::Html => Refusal { html: true, ..Refusal::new(502, "api_error", "") },
            Marker::Unavailable => Refusal::new(503, "api_error", "Service Unavailable"),
            Marker::Late => Refusal::new(504, "timeout_error", "Request timed out"),
            Marker::Overloaded | Marker::ErrorEvent => Refusal::new(529, "overloaded_error", "Overloaded"),
            _ => internal(),
        }
    }

    fn error_body(refusal: &Refusal, request_id: &str) -> Value {
        json!({
            "type": "error",
            "error": { "type": refusal.kind, "message": refusal.message, "details": null },
            "request_id": request_id,
        })
    }

    fn error_headers(refusal: &Refusal, retry_after_s: u64) -> Vec<(&'static str, String)> {
        let retries = refusal.retries.then(|| ("retry-after", retry_after_s.to_string()));
        let is_final = (refusal.status < 429).then(|| ("x-should-retry", "false".to_owned()));
        retries.into_iter().chain(is_final).collect()
    }
}

impl Dialect for Messages {
    type Refusal = Refusal;
    const NULL_IS_MISSING: bool = false;
    const TAG_IN_PATH: bool = true;

    fn item(path: &str, at: usize) -> String {
        format!("{path}.{at}")
    }

    fn refuse(path: &str, violation: Violation<'_>) -> Refusal {
        let at_least = |min: &dyn Display| format!("Input should be greater than or equal to {min}");
        let message = match violation {
            Violation::Above(Kind::Number(_, max), _) => {
                format!("Input should be less than or equal to {max}")
            }
            Violation::Below(Kind::Integer(min, _), _) => at_least(min),
            Violation::Below(Kind::Number(min, _), _) => at_least(min),
            Violation::Missing => "Field required".to_owned(),
            Violation::Pattern(pattern) => format!("String should match pattern '{pattern}'"),
            Violation::Tag(_, names, Some(Value::String(tag))) => format!(
                "Input tag '{tag}' found using 'type' does not match any of the expected tags: {}",
                quoted(&names).join(", ")
            ),
            Violation::Tag(..) => "Unable to extract tag using discriminator 'type'".to_owned(),
            Violation::TooLong(max, length) => {
                format!("List should have at most {max} items after validation, not {length}")
            }
            Violation::TooShort => "at least one message is required".to_owned(),
            Violation::Type(kind, _) | Violation::Above(kind, _) | Violation::Below(kind, _) => {
                format!("Input should be a valid {}", expected(kind))
            }
            Violation::Unknown => "Extra inputs are not permitted".to_owned(),
            Violation::Word(words, _) => return unknown_word(path, words),
        };
        wrong(path, &message)
    }
}

fn expected(kind: &Kind) -> &'static str {
    match kind {
        Kind::Flag => "boolean",
        Kind::Integer(..) => "integer",
        Kind::List(..) => "list",
        Kind::Number(..) => "number",
        Kind::Text | Kind::Name(..) | Kind::Word(_) => "string",
        Kind::TextOr(..) => "string or list",
        Kind::Any | Kind::Map(_) | Kind::Object(_) | Kind::Variants(..) => "dictionary",
    }
}
