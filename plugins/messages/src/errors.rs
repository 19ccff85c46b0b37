//! A provider's errors: the client's request (in the provider's words), the operator's account (in ours, as
//! theirs may name it), or the provider itself.

use gatehouse_sdk::{Obstacle, Reply, TextFailure};
use gatehouse_text_protocols::provider_error::{ProviderError, redact};

/// What the client reads for an error of the operator's account; names nothing of it.
const ACCOUNT: &str = "the provider does not serve this gateway at the moment";

/// An answer outside 200 to 299.
pub(crate) fn of_reply(reply: &Reply) -> TextFailure {
    translate(reply.status, &ProviderError::read(&reply.text()).unwrap_or_default())
}

/// An error inside an answer of 200, or inside a stream.
pub(crate) fn inside(json: &str) -> TextFailure {
    let error = ProviderError::read(json).unwrap_or_default();
    translate(error.implied_status().unwrap_or(500), &error)
}

/// The answer does not follow the protocol.
pub(crate) fn unreadable() -> TextFailure {
    TextFailure::upstream("the provider's answer does not read")
}

fn translate(status: u16, error: &ProviderError) -> TextFailure {
    if matches!(status, 401..=403) || error.is_about_account() {
        return TextFailure::new(Obstacle::Account, ACCOUNT);
    }
    match (status, error.message().map(redact)) {
        // The operator's table names a model the provider does not have; the client's request is good.
        (400..500, Some(_)) if is_unknown_model(status, error) => {
            TextFailure::upstream("the provider does not know the model this gateway asks it for")
        }
        // Clients that shorten a conversation look for these words.
        (400, Some(message)) if error.is("context_length_exceeded") => {
            TextFailure::new(Obstacle::Invalid, format!("prompt is too long: {message}"))
        }
        (400 | 409 | 422, Some(message)) => TextFailure::new(Obstacle::Invalid, message),
        // Any other 404 is a wrong path: the operator's base URL.
        (404, Some(message)) if error.is("not_found_error") => TextFailure::new(Obstacle::NotFound, message),
        (413, message) => TextFailure::new(
            Obstacle::TooLarge,
            message.unwrap_or_else(|| "the request is larger than the provider takes".to_owned()),
        ),
        (429, message) => TextFailure::new(
            Obstacle::RateLimited,
            message.unwrap_or_else(|| "the provider takes no more requests for now".to_owned()),
        ),
        (529, _) => TextFailure::upstream("the provider is overloaded (HTTP 529)"),
        _ => TextFailure::upstream(format!("the provider failed (HTTP {status})")),
    }
}

fn is_unknown_model(status: u16, error: &ProviderError) -> bool {
    error.is("model_not_found") || (status == 404 && error.mentions("model"))
}
