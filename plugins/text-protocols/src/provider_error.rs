//! A provider's error, read from either protocol and from the forms of compatible servers.
//!
//! Owns the reading, the words that concern the operator's account, and the removal of account names. Never
//! decides what the client is answered; the families do.

use crate::json::Object;

/// The longest provider text a client reads, in characters.
const MAX_MESSAGE_CHARS: usize = 2000;
/// Ends a text that was cut.
const ELLIPSIS: &str = "...";
/// Prefixes of account names and keys.
const ACCOUNT_PREFIXES: [&str; 7] = ["org-", "org_", "sk-", "sess-", "proj_", "acct_", "key-"];
/// Types and codes that concern the operator's account.
const ACCOUNT_CODES: [&str; 8] = [
    "insufficient_quota",
    "billing_error",
    "billing_hard_limit_reached",
    "billing_not_active",
    "account_deactivated",
    "invalid_api_key",
    "authentication_error",
    "permission_error",
];
/// Sentences that concern the operator's account.
const ACCOUNT_SENTENCES: [&str; 3] =
    ["credit balance is too low", "exceeded your current quota", "reached your specified api usage limits"];
/// The HTTP status that belongs to a type or code.
const STATUS_BY_CODE: [(&str, u16); 18] = [
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
    ("overloaded_error", 529),
];

/// An error object.
#[derive(Debug, Default)]
pub struct ProviderError {
    message: Option<String>,
    /// Its `type`; empty when it has none.
    pub kind: String,
    /// Its `code`; empty when it has none.
    pub code: String,
    /// The HTTP status some servers write as `code`.
    status: Option<u16>,
}

impl ProviderError {
    /// Reads a body. `None` when it is not an error of either protocol (a page of a proxy).
    #[must_use]
    pub fn read(body: &str) -> Option<Self> {
        // Gemini's compatible endpoint wraps its error in an array.
        let first = || serde_json::from_str::<Vec<Object<'_>>>(body).ok()?.into_iter().next();
        let body = Object::parse(body).or_else(first)?;
        let text = |object: &Object<'_>, name: &str| object.text(name).map(|text| text.into_owned());
        // `{"error":{...}}`, `{"error":"..."}`, and the bare forms of vLLM and FastAPI.
        let error = body.object("error").or_else(|| body.object("detail"));
        let plain = text(&body, "error").or_else(|| text(&body, "message")).or_else(|| text(&body, "detail"));
        let (known, message) = match &error {
            Some(error) => (true, text(error, "message").or(plain)),
            None => {
                let bare = body.text("object").as_deref() == Some("error");
                (plain.is_some() || bare, plain)
            }
        };
        let error = error.unwrap_or(body);
        let (kind, code) =
            (text(&error, "type").unwrap_or_default(), text(&error, "code").unwrap_or_default());
        (known || ACCOUNT_CODES.iter().any(|account| kind == *account || code == *account)).then(|| Self {
            message,
            kind,
            code,
            status: status(&error),
        })
    }

    /// The provider's sentence. `None` when there is none, or a page instead.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        let message = self.message.as_deref()?.trim();
        (!message.is_empty() && !is_page(message)).then_some(message)
    }

    /// Whether its type or its code is `name`.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.kind == name || self.code == name
    }

    /// Whether its message contains `part`, which is in lower case.
    #[must_use]
    pub fn mentions(&self, part: &str) -> bool {
        self.message().is_some_and(|message| message.to_ascii_lowercase().contains(part))
    }

    /// Whether it concerns the operator's account: money and credentials.
    #[must_use]
    pub fn is_about_account(&self) -> bool {
        ACCOUNT_CODES.iter().any(|code| self.is(code))
            || ACCOUNT_SENTENCES.iter().any(|part| self.mentions(part))
    }

    /// The HTTP status that belongs to its words, for an error inside an answer of 200.
    #[must_use]
    pub fn implied_status(&self) -> Option<u16> {
        let named = || STATUS_BY_CODE.iter().find(|(code, _)| self.is(code)).map(|(_, status)| *status);
        self.status.or_else(named)
    }
}

/// Whether a text is a page. Qwen begins its sentences with `<400> `.
#[must_use]
pub fn is_page(text: &str) -> bool {
    let text = text.trim_start();
    let is_tag = |tag: &str| text.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag));
    ["<!doctype", "<html", "<?xml", "<head", "<body", "<title", "<center", "<h1", "<p>", "<div", "<!--"]
        .iter()
        .any(|tag| is_tag(tag))
}

fn status(error: &Object<'_>) -> Option<u16> {
    let number = error.unsigned("code").or_else(|| error.text("code")?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

/// A provider's text without the names and keys of the operator's account, cut to the longest a client reads.
#[must_use]
pub fn redact(text: &str) -> String {
    let in_word = |letter: char| letter.is_alphanumeric() || "-_*".contains(letter);
    let is_long = text.chars().nth(MAX_MESSAGE_CHARS).is_some();
    let end = text.char_indices().nth(MAX_MESSAGE_CHARS - ELLIPSIS.len()).map_or(text.len(), |(at, _)| at);
    let cut = if is_long { &text[..end] } else { text };
    let mut redacted = String::with_capacity(cut.len());
    for piece in cut.split_inclusive(|letter: char| !in_word(letter)) {
        let (word, rest) = piece.split_at(piece.trim_end_matches(|letter: char| !in_word(letter)).len());
        let is_account = ACCOUNT_PREFIXES.iter().any(|prefix| word.starts_with(prefix));
        redacted.push_str(if is_account && word.len() > 8 { "***" } else { word });
        redacted.push_str(rest);
    }
    if is_long {
        redacted.push_str(ELLIPSIS);
    }
    redacted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redacts_account_names_and_keys_anywhere_in_a_text() {
        assert_eq!(redact("in org-abc123def, key (sk-ab***gh123)."), "in ***, key (***).");
        assert_eq!(redact("a sk-1 key-fob of gpt-4.1"), "a sk-1 key-fob of gpt-4.1");
        assert_eq!(redact(&"\u{e9}".repeat(5000)).chars().count(), MAX_MESSAGE_CHARS);
    }

    #[test]
    fn reads_every_form_of_an_error() {
        for body in [
            r#"{"error":{"message":"bad","type":"t"}}"#,
            r#"[{"error":{"message":"bad"}}]"#,
            r#"{"error":"bad"}"#,
            r#"{"object":"error","message":"bad"}"#,
            r#"{"detail":"bad"}"#,
            r#"{"detail":{"message":" bad "}}"#,
        ] {
            assert_eq!(
                ProviderError::read(body).as_ref().and_then(ProviderError::message),
                Some("bad"),
                "{body}"
            );
        }
        for body in ["", "<html>", "[]", "{}", r#"{"id":"x","choices":[]}"#] {
            assert!(ProviderError::read(body).is_none(), "{body}");
        }
        let status = |code: &str| {
            ProviderError::read(&format!(r#"{{"error":{{"code":{code}}}}}"#)).unwrap().implied_status()
        };
        assert_eq!(status("429"), Some(429));
        assert_eq!(status("\"401\""), Some(401));
        assert_eq!(status("\"model_not_found\""), Some(404));
        assert_eq!(status("1"), None);
    }
}
