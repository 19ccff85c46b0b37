//! A provider's error, told apart: the client's request (in the provider's own words), the operator's
//! account (in ours: theirs may name it), or the provider itself.

use gatehouse_sdk::{Obstacle, Reply, TextFailure};
use serde::Deserialize;
use serde_json::Value;

/// For the client when the operator's account is the trouble; says nothing of it.
const ACCOUNT: &str = "the provider does not serve this gateway at the moment";
/// How much of a provider's words is passed on, in bytes.
const MOST_WORDS: usize = 2_000;

/// An error object of either protocol.
#[derive(Default, Deserialize)]
struct Told {
    #[serde(default)]
    message: Option<Value>,
    #[serde(default, rename = "type")]
    kind: Option<Value>,
    #[serde(default)]
    code: Option<Value>,
}

/// The shapes errors come in: `{"error": {...}}`, `{"error": "..."}`, `{"message": "..."}`, `{"detail": "..."}`.
#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    error: Option<Value>,
    #[serde(flatten)]
    bare: Told,
    #[serde(default)]
    detail: Option<Value>,
}

/// An answer outside 200 to 299.
pub(crate) fn of_reply(reply: &Reply) -> TextFailure {
    judge(reply.status, told(&reply.text()))
}

/// An error inside an answer that claimed to be good, or inside a stream: its own words say what it is.
pub(crate) fn inside(json: &str) -> TextFailure {
    let told = told(json).unwrap_or_default();
    let status = told.status();
    judge(status, Some(told))
}

/// The provider answered, and it does not read.
pub(crate) fn unreadable() -> TextFailure {
    TextFailure::upstream("the provider's answer does not read")
}

fn told(text: &str) -> Option<Told> {
    let envelope: Envelope = serde_json::from_str(text).ok()?;
    Some(match envelope.error {
        Some(Value::Object(error)) => Told::deserialize(Value::Object(error)).unwrap_or_default(),
        Some(Value::String(words)) => Told { message: Some(Value::String(words)), ..envelope.bare },
        _ => Told { message: envelope.bare.message.or(envelope.detail), ..envelope.bare },
    })
}

impl Told {
    fn words(&self) -> Option<&str> {
        self.message
            .as_ref()?
            .as_str()
            .map(str::trim)
            .filter(|words| !words.is_empty() && !words.starts_with('<'))
    }

    fn is(&self, name: &str) -> bool {
        [&self.kind, &self.code].into_iter().flatten().any(|value| value.as_str() == Some(name))
    }

    /// Whether it is the operator who has to pay or be let in.
    fn is_account(&self) -> bool {
        let names = [
            "authentication_error",
            "billing_error",
            "permission_error",
            "insufficient_quota",
            "invalid_api_key",
            "account_deactivated",
            "billing_not_active",
            "billing_hard_limit_reached",
        ];
        let credit = self
            .words()
            .is_some_and(|words| words.to_ascii_lowercase().contains("credit balance is too low"));
        credit || names.iter().any(|name| self.is(name))
    }

    /// The status an error without one would have come with.
    fn status(&self) -> u16 {
        let number = self.code.as_ref().and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let table = [
            ("invalid_request_error", 400),
            ("not_found_error", 404),
            ("conflict_error", 409),
            ("request_too_large", 413),
            ("rate_limit_error", 429),
            ("rate_limit_exceeded", 429),
            ("overloaded_error", 529),
        ];
        let named = || table.iter().find(|(name, _)| self.is(name)).map(|(_, status)| *status);
        number.filter(|code| (400..600).contains(code)).or_else(named).unwrap_or(500)
    }
}

fn judge(status: u16, told: Option<Told>) -> TextFailure {
    let account = || TextFailure::new(Obstacle::Account, ACCOUNT);
    let failed = || TextFailure::upstream(format!("the provider failed (HTTP {status})"));
    if matches!(status, 401..=403) {
        return account();
    }
    let told = told.unwrap_or_default();
    if told.is_account() {
        return account();
    }
    let words = told.words().map(shown);
    match (status, words) {
        // The operator's table names a model the provider does not have; the client asked for a good one.
        (400..500, Some(words)) if about_model(status, &told, &words) => {
            TextFailure::upstream("the provider does not know the model this gateway asks it for")
        }
        // Clients that shorten a conversation know it is time by these words.
        (400, Some(words)) if told.is("context_length_exceeded") => {
            TextFailure::new(Obstacle::Invalid, format!("prompt is too long: {words}"))
        }
        (400 | 409 | 422, Some(words)) => TextFailure::new(Obstacle::Invalid, words),
        // Any other 404 is a wrong path: the operator's base URL.
        (404, Some(words)) if told.is("not_found_error") => TextFailure::new(Obstacle::NotFound, words),
        (413, words) => TextFailure::new(
            Obstacle::TooLarge,
            words.unwrap_or_else(|| "the request is larger than the provider takes".to_owned()),
        ),
        (429, words) => TextFailure::new(
            Obstacle::RateLimited,
            words.unwrap_or_else(|| "the provider takes no more requests for now".to_owned()),
        ),
        (529, _) => TextFailure::upstream("the provider is overloaded (HTTP 529)"),
        _ => failed(),
    }
}

fn about_model(status: u16, told: &Told, words: &str) -> bool {
    told.is("model_not_found") || (status == 404 && words.to_ascii_lowercase().contains("model"))
}

/// The provider's words, without what names the operator's account, and no longer than a client reads.
fn shown(words: &str) -> String {
    let mut shown = String::with_capacity(words.len().min(MOST_WORDS));
    for piece in words.split_inclusive(|c: char| !(c.is_alphanumeric() || "-_*".contains(c))) {
        let end = piece.trim_end_matches(|c: char| !(c.is_alphanumeric() || "-_*".contains(c))).len();
        let (word, rest) = piece.split_at(end);
        let named = ["org-", "sk-", "sess-", "proj_"].iter().any(|opening| word.starts_with(opening));
        if shown.len() + piece.len() > MOST_WORDS {
            shown.push_str("...");
            break;
        }
        shown.push_str(if named && word.len() > 8 { "***" } else { word });
        shown.push_str(rest);
    }
    shown
}
