//! The errors of Google's API: `google.rpc.Status`, with its details.

use serde_json::{Value, json};

use crate::text::markers::Marker;
use crate::text::refusal::{ErrorTable, Refusal};

const INVALID: &str = "INVALID_ARGUMENT";
/// The code of a refusal whose detail says that the key is wrong.
const WRONG_KEY: &str = "API_KEY_INVALID";

/// 400 about one field, which the message names as Google does.
pub(super) fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(400, INVALID, message)
}

pub(super) fn unknown_model(name: &str) -> Refusal {
    let message = format!(
        "models/{name} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see \
         the list of available models and their supported methods."
    );
    Refusal::new(404, "NOT_FOUND", message)
}

fn exhausted() -> Refusal {
    let message = "You exceeded your current quota, please check your plan and billing details.";
    Refusal::new(429, "RESOURCE_EXHAUSTED", message)
}

/// The protocol: its errors here, the rest in `protocol`.
pub(crate) struct Gemini;

impl ErrorTable for Gemini {
    fn wrong_key(key: Option<&str>, _: bool) -> Refusal {
        match key {
            Some(_) => invalid("API key not valid. Please pass a valid API key.").code(WRONG_KEY),
            None => {
                let message = "Method doesn't allow unregistered callers (callers without established identity). Please use API \
                               Key or other form of API consumer identity to call this API.";
                Refusal::new(403, "PERMISSION_DENIED", message)
            }
        }
    }

    fn not_declared_json() -> Refusal {
        invalid("Invalid JSON payload received. Unexpected content type.")
    }

    fn not_json(error: &serde_json::Error) -> Refusal {
        invalid(format!("Invalid JSON payload received. {error}"))
    }

    fn marked(marker: Marker, model: Option<&str>) -> Refusal {
        let unavailable = |status, message| Refusal::new(status, "UNAVAILABLE", message);
        match marker {
            Marker::Invalid => invalid("* GenerateContentRequest.contents: refused on purpose"),
            Marker::Key => Self::wrong_key(Some("sandbox-key"), false),
            Marker::Billing | Marker::Credit | Marker::Quota => {
                let message = "Gemini API free tier is not available in your country. Please enable billing on your project.";
                Refusal::new(400, "FAILED_PRECONDITION", message)
            }
            Marker::Forbidden => {
                Refusal::new(403, "PERMISSION_DENIED", "Your API key doesn't have the required permissions.")
            }
            Marker::Missing => unknown_model(model.unwrap_or_default()),
            Marker::TooLarge => invalid("Request payload size exceeds the limit: 20971520 bytes."),
            Marker::TooMany => exhausted().retries(),
            Marker::TooManyBare => exhausted(),
            Marker::Html => Refusal { html: true, ..unavailable(502, "Bad gateway.") },
            Marker::Unavailable | Marker::Overloaded => {
                unavailable(503, "The model is overloaded. Please try again later.")
            }
            Marker::Late => {
                Refusal::new(504, "DEADLINE_EXCEEDED", "The request timed out. Please try again.")
            }
            _ => Refusal::new(500, "INTERNAL", "An internal error has occurred. Please retry."),
        }
    }

    /// Google says in a detail when to come again, and has no `Retry-After`.
    fn error_body(refusal: &Refusal, _: &str) -> Value {
        let mut details = Vec::new();
        if let Some(reason) = refusal.code {
            let kind = "type.googleapis.com/google.rpc.ErrorInfo";
            details.push(json!({ "@type": kind, "reason": reason, "domain": "googleapis.com" }));
        }
        if refusal.retries {
            details.push(json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s" }));
        }
        let mut error = json!({ "code": refusal.status, "message": refusal.message, "status": refusal.kind });
        if !details.is_empty() {
            error["details"] = details.into();
        }
        json!({ "error": error })
    }

    fn error_headers(_: &Refusal, _: u64) -> Vec<(&'static str, String)> {
        vec![]
    }
}
