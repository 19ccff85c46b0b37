//! A provider's errors: which obstacle they are, and what of them a client may read. Words about the request
//! are kept. What concerns the operator's account, and a body that is not an error of the protocol (a page of
//! a proxy), goes to the operator's log only.

use gatehouse_sdk::{Obstacle, TextFailure, log};
use gatehouse_text_protocols::provider_error::{ProviderError, redact};

use crate::state::State;

/// Characters of a provider's body in the operator's log.
const MAX_LOGGED: usize = 2000;

/// Where a status comes from.
#[derive(Clone, Copy)]
enum Status {
    /// Of the HTTP answer.
    Http(u16),
    /// Implied by the words of the error.
    Implied(u16),
}

/// An answer outside 200 to 299.
pub(crate) fn of_answer(state: &State, status: u16, body: &str) -> TextFailure {
    translate(state, Status::Http(status), ProviderError::read(body), body)
}

/// An error inside an answer of 200, or inside a stream.
pub(crate) fn of_error(state: &State, body: &str) -> TextFailure {
    let error = ProviderError::read(body);
    let status = error.as_ref().and_then(ProviderError::implied_status).unwrap_or(502);
    translate(state, Status::Implied(status), error, body)
}

/// An answer that does not follow the protocol.
pub(crate) fn unreadable(what: &str, body: &str) -> TextFailure {
    log::error("the provider's answer makes no sense", &[("what", what), ("body", head(body))]);
    TextFailure::upstream(format!("the provider's answer makes no sense: {what}"))
}

fn translate(state: &State, from: Status, error: Option<ProviderError>, body: &str) -> TextFailure {
    let (Status::Http(status) | Status::Implied(status)) = from;
    let Some(error) = error else {
        log::warn("the provider refused a request", &[("status", &status.to_string()), ("body", head(body))]);
        return match status {
            401..=403 => account(),
            413 => too_large(),
            429 => rate_limited(),
            _ => failed(from),
        };
    };
    let message = error.message();
    log::warn(
        "the provider refused a request",
        &[
            ("status", &status.to_string()),
            ("type", &error.kind),
            ("code", &error.code),
            ("message", head(message.unwrap_or_default())),
        ],
    );
    if error.is_about_account() || matches!(status, 401..=403) {
        return account();
    }
    // The operator's table names a model the provider does not have; the client named another one.
    if error.is("model_not_found") {
        return unknown_model();
    }
    let message = message.map(|message| for_client(state, message));
    match (status, message) {
        (404, None) => unknown_model(),
        (404, Some(_)) if is_about_route(&error) => unknown_model(),
        (404, Some(message)) => TextFailure::new(Obstacle::NotFound, message),
        (413, None) => too_large(),
        (413, Some(message)) => TextFailure::new(Obstacle::TooLarge, message),
        (429, None) => rate_limited(),
        (429, Some(message)) => TextFailure::new(Obstacle::RateLimited, message),
        (400 | 409 | 422, Some(message)) => TextFailure::new(Obstacle::Invalid, message),
        _ => failed(from),
    }
}

/// Whether it says that the URL or the model is wrong, which the operator chose.
fn is_about_route(error: &ProviderError) -> bool {
    let bare = error
        .message()
        .is_some_and(|message| message.trim_end_matches('.').eq_ignore_ascii_case("not found"));
    bare || ["model", "url", "route", "endpoint", "path"].iter().any(|part| error.mentions(part))
}

fn account() -> TextFailure {
    TextFailure::new(Obstacle::Account, "No available upstream, please retry later")
}

fn unknown_model() -> TextFailure {
    TextFailure::upstream("the provider does not serve this model at present")
}

fn too_large() -> TextFailure {
    TextFailure::new(Obstacle::TooLarge, "the request is too large for the provider")
}

fn rate_limited() -> TextFailure {
    TextFailure::new(Obstacle::RateLimited, "the provider takes no more requests for now")
}

fn failed(from: Status) -> TextFailure {
    match from {
        Status::Http(status) => TextFailure::upstream(format!("the provider failed (HTTP {status})")),
        Status::Implied(_) => TextFailure::upstream("the provider failed while it answered"),
    }
}

/// A provider's message as a client may read it: the model by its public name, nothing of the account.
fn for_client(state: &State, message: &str) -> String {
    // A very short name would also match inside other words.
    if state.upstream.len() > 3 {
        redact(&message.replace(&state.upstream, &state.model))
    } else {
        redact(message)
    }
}

fn head(text: &str) -> &str {
    text.char_indices().nth(MAX_LOGGED).map_or(text, |(at, _)| &text[..at])
}
