//! The errors of the Messages API: one function an error, and the words of every schema violation.

use serde_json::{Value, json};

use crate::common::schema::{Dialect, Kind, Violation};
use crate::text::markers::Marker;
use crate::text::provider::KeyFailure;
use crate::text::refusal::{ErrorTable, Refusal};

pub(super) fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(400, "invalid_request_error", message)
}

/// 400 about one value.
pub(super) fn wrong(path: &str, message: &str) -> Refusal {
    invalid(if path.is_empty() { message.to_owned() } else { format!("{path}: {message}") })
}

pub(super) fn unknown_word(path: &str, words: &[&str]) -> Refusal {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let listed = match &quoted[..] {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        few => few.concat(),
    };
    wrong(path, &format!("Input should be {listed}"))
}

pub(super) fn not_found(what: &str) -> Refusal {
    Refusal::new(404, "not_found_error", what)
}

pub(super) fn method() -> Refusal {
    Refusal::new(405, "invalid_request_error", "Method Not Allowed")
}

fn overloaded() -> Refusal {
    Refusal::new(529, "overloaded_error", "Overloaded")
}

pub(super) fn internal() -> Refusal {
    Refusal::new(500, "api_error", "Internal server error")
}

fn wrong_key(message: &str) -> Refusal {
    Refusal::new(401, "authentication_error", message)
}

fn forbidden() -> Refusal {
    let message = "Your API key does not have permission to use the specified resource.";
    Refusal::new(403, "permission_error", message)
}

fn no_credit() -> Refusal {
    invalid(
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or \
         purchase credits.",
    )
}

fn rate_limited() -> Refusal {
    let message = "This request would exceed your organization's rate limit. Please try again later.";
    Refusal::new(429, "rate_limit_error", message).retries(true)
}

/// The protocol: its errors here, its schema violations below, the rest in `protocol`.
pub(crate) struct Messages;

impl ErrorTable for Messages {
    fn key_refused(_: &str, is_bearer: bool, failure: KeyFailure) -> Refusal {
        match failure {
            KeyFailure::Forbidden => forbidden(),
            KeyFailure::Missing => wrong_key("x-api-key header is required"),
            KeyFailure::NoCredit => no_credit(),
            KeyFailure::Overloaded => overloaded(),
            KeyFailure::RateLimited => rate_limited(),
            KeyFailure::Revoked | KeyFailure::Unknown if is_bearer => wrong_key("Invalid bearer token"),
            KeyFailure::Revoked | KeyFailure::Unknown => wrong_key("invalid x-api-key"),
        }
    }

    fn too_large() -> Refusal {
        Refusal::new(413, "request_too_large", "Request exceeds the maximum size")
    }

    fn not_declared_json() -> Refusal {
        invalid("content-type: Input should be 'application/json'")
    }

    fn not_json(error: &serde_json::Error) -> Refusal {
        invalid(format!("The request body is not valid JSON: {error}"))
    }

    fn marked(marker: Marker, model: &str) -> Refusal {
        match marker {
            Marker::Invalid => invalid("messages: the request was refused on purpose"),
            Marker::Key => wrong_key("invalid x-api-key"),
            Marker::Billing => Refusal::new(402, "billing_error", "There is a problem with your billing."),
            Marker::Forbidden => forbidden(),
            Marker::Missing => not_found(&format!("model: {model}")),
            Marker::TooLarge => Self::too_large(),
            Marker::TooMany => rate_limited(),
            Marker::TooManyBare => rate_limited().retries(false),
            Marker::Html => Refusal::new(502, "api_error", "").html(),
            Marker::Unavailable => Refusal::new(503, "api_error", "Service Unavailable"),
            Marker::Late => Refusal::new(504, "timeout_error", "Request timed out"),
            Marker::Overloaded => overloaded(),
            Marker::Credit => no_credit(),
            _ => internal(),
        }
    }

    fn broken_stream() -> Refusal {
        overloaded()
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
        match violation {
            Violation::Above(Kind::Number(_, max), _) => {
                wrong(path, &format!("Input should be less than or equal to {max}"))
            }
            Violation::Below(Kind::Integer(min, _), _) => {
                wrong(path, &format!("Input should be greater than or equal to {min}"))
            }
            Violation::Below(Kind::Number(min, _), _) => {
                wrong(path, &format!("Input should be greater than or equal to {min}"))
            }
            Violation::Missing => wrong(path, "Field required"),
            Violation::Pattern(pattern) => wrong(path, &format!("String should match pattern '{pattern}'")),
            Violation::Tag(_, names, Some(Value::String(tag))) => {
                let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
                let message = format!(
                    "Input tag '{tag}' found using 'type' does not match any of the expected tags: {}",
                    names.join(", ")
                );
                wrong(path, &message)
            }
            Violation::Tag(..) => wrong(path, "Unable to extract tag using discriminator 'type'"),
            Violation::TooLong(max, length) => {
                wrong(path, &format!("List should have at most {max} items after validation, not {length}"))
            }
            Violation::TooShort => wrong(path, "at least one message is required"),
            Violation::Type(kind, _) | Violation::Above(kind, _) | Violation::Below(kind, _) => {
                wrong(path, &format!("Input should be a valid {}", expected(kind)))
            }
            Violation::Unknown => wrong(path, "Extra inputs are not permitted"),
            Violation::Word(words, _) => unknown_word(path, words),
        }
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
