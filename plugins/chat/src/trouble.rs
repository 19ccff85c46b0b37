//! A provider's errors, in both protocols and in the dialects of their clones: what stands in the way, and
//! what of it a client may read. Words about the request are kept; what concerns the operator's account, and
//! whatever is no error of the protocol (a page of a proxy), goes to the operator's log alone.

use gatehouse_sdk::{Obstacle, TextFailure, log};

use crate::json::Object;
use crate::state::State;

/// How much of a provider's words a client reads.
const LONGEST: usize = 2000;
/// Letters that begin what names the operator's account or is a key of it.
const MARKS: [&str; 6] = ["org-", "org_", "sk-", "proj_", "acct_", "key-"];

/// What a provider says of itself.
#[derive(Debug, Default)]
struct Words {
    message: Option<String>,
    kind: String,
    code: String,
    /// The HTTP status some clones write as the code.
    status: Option<u16>,
}

impl Words {
    fn read(body: &str) -> Option<Self> {
        // Gemini's clone puts its error into an array.
        let first = || serde_json::from_str::<Vec<Object<'_>>>(body).ok()?.into_iter().next();
        let body = Object::parse(body).or_else(first)?;
        let told =
            |object: &Object<'_>, name: &str| object.text(name).map(|text| text.decoded().into_owned());
        // `{"error":{...}}`, `{"error":"..."}`, and the bare forms of vLLM and FastAPI.
        let error = body.object("error").or_else(|| body.object("detail"));
        let plain = told(&body, "error").or_else(|| told(&body, "message")).or_else(|| told(&body, "detail"));
        let Some(error) = error else {
            let bare = body.text("object").is_some_and(|kind| kind.decoded() == "error");
            let (kind, code) = (told(&body, "type"), told(&body, "code"));
            return (plain.is_some() || bare).then(|| Self {
                message: plain,
                kind: kind.unwrap_or_default(),
                code: code.unwrap_or_default(),
                status: status(&body),
            });
        };
        Some(Self {
            message: told(&error, "message").or(plain),
            kind: told(&error, "type").unwrap_or_default(),
            code: told(&error, "code").unwrap_or_default(),
            status: status(&error),
        })
    }

    fn says(&self, part: &str) -> bool {
        self.message.as_ref().is_some_and(|message| message.to_ascii_lowercase().contains(part))
    }

    fn is(&self, word: &str) -> bool {
        self.kind == word || self.code == word
    }
}

fn status(error: &Object<'_>) -> Option<u16> {
    let number = error.count_in("code").or_else(|| error.text("code")?.decoded().parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

/// An answer outside 200 to 299.
pub(crate) fn of_answer(state: &State, status: u16, body: &str) -> TextFailure {
    judge(state, Told::Answer(status), Words::read(body), body)
}

/// An error inside an answer of 200, or inside a stream.
pub(crate) fn of_error(state: &State, body: &str) -> TextFailure {
    let words = Words::read(body);
    let status = words.as_ref().map_or(502, implied);
    judge(state, Told::Words(status), words, body)
}

/// An answer that is none.
pub(crate) fn unreadable(what: &str, body: &str) -> TextFailure {
    log::error("the provider's answer makes no sense", &[("what", what), ("body", head(body))]);
    TextFailure::upstream(format!("the provider's answer makes no sense: {what}"))
}

/// The status an error's own words stand for.
fn implied(words: &Words) -> u16 {
    if let Some(status) = words.status {
        return status;
    }
    let known = [
        ("insufficient_quota", 402),
        ("billing_error", 402),
        ("authentication_error", 401),
        ("invalid_api_key", 401),
        ("permission_error", 403),
        ("not_found_error", 404),
        ("model_not_found", 404),
        ("request_too_large", 413),
        ("conflict_error", 409),
        ("rate_limit_error", 429),
        ("rate_limit_exceeded", 429),
        ("requests", 429),
        ("tokens", 429),
        ("invalid_request_error", 400),
        ("context_length_exceeded", 400),
        ("content_filter", 400),
        ("BadRequestError", 400),
    ];
    known.into_iter().find(|(word, _)| words.is(word)).map_or(502, |(_, status)| status)
}

/// Where a status comes from.
#[derive(Clone, Copy)]
enum Told {
    Answer(u16),
    Words(u16),
}

fn judge(state: &State, told: Told, words: Option<Words>, body: &str) -> TextFailure {
    let (Told::Answer(status) | Told::Words(status)) = told;
    let Some(words) = words else {
        log::warn("the provider refused a request", &[("status", &status.to_string()), ("body", head(body))]);
        // What is no error of the protocol says nothing but its status.
        return match status {
            401..=403 => account(),
            413 => TextFailure::new(Obstacle::TooLarge, "the request is too large for the provider"),
            429 => TextFailure::new(Obstacle::RateLimited, "the provider takes no more requests for now"),
            _ => failed(told),
        };
    };
    let said = words.message.as_deref().unwrap_or_default();
    log::warn(
        "the provider refused a request",
        &[
            ("status", &status.to_string()),
            ("type", &words.kind),
            ("code", &words.code),
            ("message", head(said)),
        ],
    );
    if is_about_the_account(&words) || matches!(status, 401..=403) {
        return account();
    }
    let clean = || clean(state, said);
    match status {
        // The operator's mapping names what the provider does not have; the client named something else.
        _ if words.is("model_not_found") => unknown_model(),
        404 if said.is_empty() || is_about_the_route(&words) => unknown_model(),
        404 => TextFailure::new(Obstacle::NotFound, clean()),
        413 if said.is_empty() => {
            TextFailure::new(Obstacle::TooLarge, "the request is too large for the provider")
        }
        413 => TextFailure::new(Obstacle::TooLarge, clean()),
        429 if said.is_empty() => {
            TextFailure::new(Obstacle::RateLimited, "the provider takes no more requests for now")
        }
        429 => TextFailure::new(Obstacle::RateLimited, clean()),
        400 | 409 | 422 if !said.is_empty() => TextFailure::new(Obstacle::Invalid, clean()),
        _ => failed(told),
    }
}

/// Money and credentials, whatever status they come with.
fn is_about_the_account(words: &Words) -> bool {
    let named = [
        "insufficient_quota",
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "account_deactivated",
        "invalid_api_key",
        "authentication_error",
        "permission_error",
    ];
    let said = [
        "credit balance is too low",
        "exceeded your current quota",
        "reached your specified api usage limits",
    ];
    named.iter().any(|word| words.is(word)) || said.iter().any(|part| words.says(part))
}

fn is_about_the_route(words: &Words) -> bool {
    let bare = words
        .message
        .as_ref()
        .is_some_and(|said| said.trim_end_matches('.').eq_ignore_ascii_case("not found"));
    bare || ["model", "url", "route", "endpoint", "path"].iter().any(|part| words.says(part))
}

fn account() -> TextFailure {
    TextFailure::new(Obstacle::Account, "No available upstream, please retry later")
}

fn unknown_model() -> TextFailure {
    TextFailure::upstream("the provider does not serve this model at present")
}

fn failed(told: Told) -> TextFailure {
    match told {
        Told::Answer(status) => TextFailure::upstream(format!("the provider failed (HTTP {status})")),
        Told::Words(_) => TextFailure::upstream("the provider failed while it answered"),
    }
}

/// A provider's words as a client may read them: the model by its public name, nothing of the account.
fn clean(state: &State, said: &str) -> String {
    let head = head(said);
    let named =
        if state.upstream.len() > 3 { head.replace(&state.upstream, &state.model) } else { head.to_owned() };
    let mut clean = String::with_capacity(named.len());
    for piece in named.split_inclusive([' ', '\n', '\t']) {
        let word = piece.trim_start_matches(|letter: char| !letter.is_ascii_alphanumeric());
        if MARKS.iter().any(|mark| word.starts_with(mark)) && word.len() > 8 {
            let start = piece.len() - word.len();
            let end = word.find(|letter: char| !letter.is_ascii_alphanumeric() && !"-_".contains(letter));
            clean.push_str(&piece[..start]);
            clean.push_str("***");
            clean.push_str(end.map_or("", |end| &word[end..]));
        } else {
            clean.push_str(piece);
        }
    }
    clean
}

fn head(text: &str) -> &str {
    text.char_indices().nth(LONGEST).map_or(text, |(at, _)| &text[..at])
}
