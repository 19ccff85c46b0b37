//! What a provider's error becomes: which obstacle it is, and what of it a client may read.
//!
//! Words about the request are kept (`provider_words`). What concerns the operator's account or a wrong row of the
//! operator's table, an error of a type that nobody knows, and a body that is no error of the protocol (a page of a proxy), go
//! to the operator's log only.

use gatehouse_sdk::{Obstacle, TextFailure, log};

use crate::context_length;
use crate::field_names::FieldNames;
use crate::names::is_member;
use crate::provider_error::ProviderError;
use crate::provider_words::{for_client, is_about_request};

/// The code of an answer that was read and has more than its client's protocol can carry.
pub(crate) const NO_PLACE: &str = "content_without_place";

/// Characters of a provider's body in the operator's log.
const MAX_LOGGED: usize = 2000;

/// How clients of a family are told that a conversation is too long.
#[derive(Clone, Copy, Debug)]
pub struct TooLong {
    /// The words they look for, in lower case.
    pub words: &'static str,
    /// What begins a message that does not have them.
    pub sentence: &'static str,
}

/// The reader of errors in the answer to one request.
#[derive(Clone, Copy, Debug)]
pub struct Failures<'f> {
    /// The public name of the model.
    pub model: &'f str,
    /// The provider's name of it, which clients never read; empty when it is not known.
    pub upstream: &'f str,
    /// Where the fields of the provider's request came from.
    pub fields: &'f FieldNames,
    /// Names that the provider was sent in place of the client's.
    pub renamed: &'f [(String, String)],
    /// What clients of the family look for in the message about a conversation that is too long, before they shorten it.
    pub too_long: TooLong,
}

impl Failures<'_> {
    /// An answer outside 200 to 299.
    #[must_use]
    pub fn of_answer(&self, status: u16, body: &str) -> TextFailure {
        let failed = || {
            TextFailure::upstream(match status {
                529 => "the provider is overloaded (HTTP 529)".to_owned(),
                _ => format!("the provider failed (HTTP {status})"),
            })
        };
        let of_text = || {
            ProviderError::of_text(body)
                .filter(|it| matches!(status, 400 | 413 | 422) && is_about_request(it))
        };
        self.translate(status, ProviderError::read(body).or_else(of_text), body).unwrap_or_else(failed)
    }

    /// An error inside an answer of 200, or inside a stream.
    #[must_use]
    pub fn of_error(&self, body: &str) -> TextFailure {
        let error = ProviderError::read(body);
        if let Some(error) = error.as_ref().filter(|error| error.code == NO_PLACE) {
            return TextFailure::upstream(error.message().unwrap_or_default());
        }
        let status = error.as_ref().and_then(ProviderError::implied_status).unwrap_or(502);
        let failed = || TextFailure::upstream("the provider failed while it answered");
        self.translate(status, error, body).unwrap_or_else(failed)
    }

    /// The error in an answer of 200 or an event that came in place of what was asked for; `None` for any other.
    #[must_use]
    pub fn instead(&self, body: &str) -> Option<TextFailure> {
        ProviderError::read(body).map(|_| self.of_error(body))
    }

    /// `None` for a failure of the provider itself.
    fn translate(&self, status: u16, error: Option<ProviderError>, body: &str) -> Option<TextFailure> {
        let is_error = error.is_some();
        let error = error.unwrap_or_default();
        let said = error.message();
        log::warn(
            "the provider refused a request",
            &[
                ("status", &status.to_string()),
                ("type", &error.kind),
                ("code", &error.code),
                ("message", head(said.unwrap_or(if is_error { "" } else { body }))),
            ],
        );
        let unknown_model = || TextFailure::upstream("the provider does not serve this model at present");
        let or = |message: Option<String>, words: &str| message.unwrap_or_else(|| words.to_owned());
        let is_for_client = is_about_request(&error) || (status == 404 && error.is("not_found_error"));
        let told = || said.and_then(|message| self.for_client(message));
        let message = is_for_client.then(told).flatten();
        let (obstacle, message) = match status {
            // Some servers have no better status for what the client asked for.
            403 if self.says_refused(&error) => {
                (Obstacle::Invalid, or(told(), "the provider refuses what the request asks for"))
            }
            // Groq has a status of its own for more tokens than it takes in a minute, others one for all that they refuse.
            400 | 403 | 413 | 422 | 500..=599 if error.is_about_rate() => {
                (Obstacle::RateLimited, BUSY.to_owned())
            }
            401..=403 => (Obstacle::Account, NO_ACCOUNT.to_owned()),
            // Whatever status a server has for it.
            status if status != 429 && context_length::is_exceeded(&error) => {
                (Obstacle::TooLong, self.too_long(told().unwrap_or_default()))
            }
            _ if error.is_about_account() => (Obstacle::Account, NO_ACCOUNT.to_owned()),
            429 if error.says_spent() => (Obstacle::Account, NO_ACCOUNT.to_owned()),
            // Servers have any status for it.
            400..=599 if status != 429 && lacks(&error).is_some() => {
                (Obstacle::Invalid, or(message, lacks(&error).unwrap_or_default()))
            }
            421 | 451 if is_error => {
                let message = self.says_refused(&error).then(told).flatten();
                (Obstacle::Invalid, or(message, "the provider refuses what the request asks for"))
            }
            // The operator's table names a model the provider does not have; the client named another one.
            _ if self.is_about_model(&error) || is_about_endpoint(&error) => return Some(unknown_model()),
            404 if is_error && (said.is_none() || is_about_route(&error)) => return Some(unknown_model()),
            404 if said.is_some() => {
                (Obstacle::NotFound, or(message, "the provider does not find what the request names"))
            }
            413 => (Obstacle::TooLarge, or(message, "the request is too large for the provider")),
            // The limit is the operator's.
            429 => (Obstacle::RateLimited, BUSY.to_owned()),
            400 | 409 | 422 if said.is_some() => (
                Obstacle::Invalid,
                message.unwrap_or_else(|| format!("the provider refuses the request (HTTP {status})")),
            ),
            _ => return None,
        };
        let field = (is_for_client && obstacle == Obstacle::Invalid).then(|| self.field(&error)).flatten();
        Some(TextFailure { field, ..TextFailure::new(obstacle, message) })
    }

    /// Whether it is about a model that the provider does not have, or not for the operator.
    fn is_about_model(&self, error: &ProviderError) -> bool {
        let code = error.code.to_ascii_lowercase();
        if MODEL_CODES.iter().any(|known| code == *known || error.kind == *known) {
            return true;
        }
        let said = error.message().unwrap_or_default().to_ascii_lowercase();
        let said = said.strip_prefix("the ").unwrap_or(&said);
        let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
        // Further inside, the words may be the client's own.
        let begins = MODEL_BEGINNINGS.iter().any(|words| said.starts_with(words));
        let is_named = !self.upstream.is_empty() && said.starts_with(&self.upstream.to_ascii_lowercase());
        (begins && has(&MODEL_WORDS)) || (is_named && said.contains("is not a valid model"))
    }

    /// The message in the words that the clients of the family know.
    fn too_long(&self, message: String) -> String {
        let TooLong { words, sentence } = self.too_long;
        match message {
            message if message.to_ascii_lowercase().contains(words) => message,
            message if message.is_empty() => sentence.to_owned(),
            message => format!("{sentence}: {message}"),
        }
    }

    /// A provider's message as a client may read it: the model by its public name, nothing of the account.
    fn for_client(&self, message: &str) -> Option<String> {
        let renamed = self.renamed.iter().map(|(sent, own)| (sent.as_str(), own.as_str()));
        let pairs = renamed.chain([(self.upstream, self.model)]);
        // A very short name would also match inside other words.
        let message =
            pairs.filter(|(sent, _)| sent.len() > 3).fold(message.to_owned(), |message, (sent, own)| {
                if message.contains(sent) { message.replace(sent, own) } else { message }
            });
        for_client(&self.fields.in_text(&message))
    }

    /// Whether a 403 is about the request and not about the operator's account or table. The upstream's name of the model
    /// is no word about the request: `gpt-4-vision-preview` names no picture.
    fn says_refused(&self, error: &ProviderError) -> bool {
        if error.is_about_account() || error.is("model_not_found") || is_about_endpoint(error) {
            return false;
        }
        let said = error.message().unwrap_or_default().to_ascii_lowercase();
        let said = match self.upstream {
            "" => said,
            upstream => said.replace(&upstream.to_ascii_lowercase(), ""),
        };
        let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
        !has(&CREDENTIAL_WORDS) && has(&REQUEST_WORDS)
    }

    /// The client's field that an error about the request is about: as it says, or as its message begins.
    fn field(&self, error: &ProviderError) -> Option<String> {
        let path = error.param.as_deref().or_else(|| Some(error.message()?.split_once(": ")?.0))?;
        let head = path.split(['.', '[']).next().unwrap_or_default();
        is_member(head).then(|| self.fields.own(path))
    }
}

/// Codes of models that a provider does not have, or not for this account, in lower case.
const MODEL_CODES: [&str; 9] = [
    "model_not_found",
    "invalid_model",
    "model_decommissioned",
    "model_not_available",
    "model_terms_required",
    "modelnotopen",
    "operationnotsupported",
    "unsupported_api_for_model",
    "1211",
];
/// Beginnings of messages about the model that the operator's table names, without the article, and what they say of it.
const MODEL_BEGINNINGS: [&str; 7] = [
    "model",
    "unknown model",
    "invalid model",
    "no model",
    "invocation of model",
    "unable to access",
    "not found the model",
];
const MODEL_WORDS: [&str; 11] = [
    "not exist",
    "not found",
    "unknown model",
    "invalid model",
    "no models loaded",
    "decommissioned",
    "deprecated and",
    "non-serverless model",
    "on-demand throughput",
    "permission denied",
    "terms acceptance",
];
/// What a model cannot do, in the words of servers, and as a client reads it.
const LACKS: [(&[&str], &str); 2] = [
    (
        &[
            "image input is not supported",
            "does not support image",
            "support image input",
            "does not support vision",
        ],
        "this model does not take pictures",
    ),
    (
        &["does not support tools", "support tool use", "does not support function calling"],
        "this model does not take tools",
    ),
];

/// What the model cannot do that was asked of it.
fn lacks(error: &ProviderError) -> Option<&'static str> {
    let row = LACKS.iter().find(|(words, _)| words.iter().any(|words| error.mentions(words)));
    row.map(|(_, sentence)| *sentence)
}

/// What a client reads for an error of the operator's account; names nothing of it.
pub const NO_ACCOUNT: &str = "No available upstream, please retry later";

/// What a client reads of a limit that is the operator's.
pub const BUSY: &str = "the provider takes no more requests for now";

/// Words of a 403 that is about what the client sent: what the provider does not want to read, and what the model cannot.
const REQUEST_WORDS: [&str; 16] = [
    "usage guidelines",
    "usage polic",
    "content polic",
    "acceptable use",
    "terms of use",
    "violat",
    "safety",
    "moderat",
    "flagged",
    "harmful",
    "sensitive",
    "inappropriate",
    "image",
    "vision",
    "multimodal",
    "modalit",
];

/// Words of a 403 that is about what the operator's key may use.
const CREDENTIAL_WORDS: [&str; 10] = [
    "api key",
    "api-key",
    "credential",
    "token is",
    "quota",
    "billing",
    "credit",
    "project",
    "organization",
    "access to",
];

/// Whether it is about an endpoint that the operator made, or about what its account may ask.
fn is_about_endpoint(error: &ProviderError) -> bool {
    let code = error.code.to_ascii_lowercase();
    code.contains("endpoint") || code.contains("deployment") || code.contains("accessdenied")
}

/// Whether it says that the URL or the model is wrong, which the operator chose.
fn is_about_route(error: &ProviderError) -> bool {
    // Azure says the second one of a URL that it does not know.
    let is_bare = |said: &str| {
        let said = said.trim_end_matches('.');
        ["not found", "resource not found"].iter().any(|bare| said.eq_ignore_ascii_case(bare))
    };
    error.message().is_some_and(is_bare)
        || ["model", "url", "route", "endpoint", "path"].iter().any(|part| error.mentions(part))
}

/// An answer that does not follow the protocol; the operator's log has its beginning.
#[must_use]
pub fn unreadable(what: &str, body: &str) -> TextFailure {
    log::error("the provider's answer makes no sense", &[("what", what), ("body", head(body))]);
    TextFailure::upstream(format!("the provider's answer makes no sense: {what}"))
}

/// The beginning of a provider's text, for the operator's log.
#[must_use]
pub fn head(text: &str) -> &str {
    text.char_indices().nth(MAX_LOGGED).map_or(text, |(at, _)| &text[..at])
}
