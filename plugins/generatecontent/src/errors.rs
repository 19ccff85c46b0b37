//! Google's errors: `google.rpc.Status` inside of `error`, or inside of an array of them where a stream was asked for.
//!
//! Its status decides, but for what it has no status of its own for: a wrong key, a closed account, a prompt that is too long
//! and a body that is too large are all `INVALID_ARGUMENT` or `FAILED_PRECONDITION`.

use gatehouse_sdk::{Obstacle, TextFailure, log};
use gatehouse_text_protocols::context_length::says_exceeded;
use gatehouse_text_protocols::failures::{BUSY, NO_ACCOUNT, head};
use serde::Deserialize;

use crate::state::State;

/// Reads the errors in the answer to one request.
pub(crate) struct ErrorReader<'s> {
    pub(crate) state: &'s State,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Body {
    // A list would be read as the members of one in their order.
    Many(Vec<Wrapped>),
    One(Wrapped),
}

#[derive(Deserialize)]
struct Wrapped {
    error: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    code: Option<u16>,
    message: String,
    status: String,
    details: Vec<Detail>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Detail {
    reason: Option<String>,
    /// `34s`, `1.5s`.
    retry_delay: Option<String>,
    field_violations: Vec<Violation>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Violation {
    field: String,
}

/// Words of an error that is about the operator's account, in lower case.
const ACCOUNT_WORDS: [&str; 6] = [
    "api key",
    "user location is not supported",
    "billing",
    "credits are depleted",
    "has been suspended",
    "free tier",
];
/// What clients of Messages look for before they shorten a conversation.
const TOO_LONG: &str = "prompt is too long";
const TOO_LARGE_WORDS: &str = "payload size exceeds";

/// Beginnings of Google's paths, and the fields of a Messages request.
const FIELDS: [(&str, &str); 11] = [
    ("generation_config.max_output_tokens", "max_tokens"),
    ("generation_config.temperature", "temperature"),
    ("generation_config.top_p", "top_p"),
    ("generation_config.top_k", "top_k"),
    ("generation_config.stop_sequences", "stop_sequences"),
    ("generation_config.response_schema", "output_config"),
    ("generation_config.thinking_config", "thinking"),
    ("tool_config", "tool_choice"),
    ("system_instruction", "system"),
    ("contents", "messages"),
    ("tools", "tools"),
];

impl ErrorReader<'_> {
    /// A reply outside of 200 to 299.
    pub(crate) fn of_reply(&self, status: u16, body: &str) -> TextFailure {
        self.translate(read(body), status, body)
    }

    /// An error in place of an answer, or of a frame.
    pub(crate) fn of_frame(&self, body: &str) -> TextFailure {
        let error = read(body);
        let status = error.as_ref().and_then(|error| error.code).unwrap_or(502);
        self.translate(error, status, body)
    }

    fn translate(&self, error: Option<Status>, code: u16, body: &str) -> TextFailure {
        let Some(error) = error else {
            log::warn("the provider failed", &[("status", &code.to_string()), ("body", head(body))]);
            return by_code(code);
        };
        let reason = error.details.iter().find_map(|detail| detail.reason.as_deref()).unwrap_or_default();
        log::warn(
            "the provider refused a request",
            &[
                ("status", &code.to_string()),
                ("kind", &error.status),
                ("reason", reason),
                ("message", head(&error.message)),
            ],
        );
        let said = error.message.to_ascii_lowercase();
        let is_account = reason.starts_with("API_KEY")
            || ["SERVICE_DISABLED", "BILLING_DISABLED", "CONSUMER_INVALID", "CONSUMER_SUSPENDED"]
                .contains(&reason);
        match error.status.as_str() {
            _ if is_account => account(),
            // Google's own reason, whatever the status of what stands before it.
            _ if reason == "RATE_LIMIT_EXCEEDED" => {
                TextFailure { retry_after_ms: error.retry_after_ms(), ..by_code(429) }
            }
            // Vertex has it as a failure of its own, too.
            "INTERNAL" | "UNKNOWN" if says_exceeded(&said) => self.of_argument(&error, &said),
            "INVALID_ARGUMENT" | "FAILED_PRECONDITION" | "OUT_OF_RANGE" => self.of_argument(&error, &said),
            "UNAUTHENTICATED" | "PERMISSION_DENIED" => account(),
            "NOT_FOUND" => TextFailure::upstream("the provider does not serve this model at present"),
            "RESOURCE_EXHAUSTED" if said.contains("credits are depleted") => account(),
            "RESOURCE_EXHAUSTED" => TextFailure { retry_after_ms: error.retry_after_ms(), ..by_code(429) },
            _ => by_code(code),
        }
    }

    /// What the request is refused for. Words of the account may be the client's own, but for a precondition, which is never
    /// about a request's contents.
    fn of_argument(&self, error: &Status, said: &str) -> TextFailure {
        let is_precondition = error.status == "FAILED_PRECONDITION";
        if is_precondition && ACCOUNT_WORDS.iter().any(|word| said.contains(word))
            || said.starts_with("api key")
        {
            return account();
        }
        let path = self.path(error);
        let message = match &path {
            Some((theirs, own)) => error.message.replace(theirs, own),
            None => error.message.clone(),
        };
        let obstacle = if says_exceeded(said) {
            Obstacle::TooLong
        } else if said.contains(TOO_LARGE_WORDS) {
            Obstacle::TooLarge
        } else {
            Obstacle::Invalid
        };
        // Amid a stream nobody puts it in the words of Messages any more.
        let is_told = obstacle != Obstacle::TooLong || said.contains(TOO_LONG);
        let message = if is_told { message } else { format!("{TOO_LONG}: {message}") };
        let field = path.map(|(_, own)| own).filter(|_| obstacle == Obstacle::Invalid);
        TextFailure { field, ..TextFailure::new(obstacle, message) }
    }

    /// The path that an error names, as Google wrote it and as the Messages request has it.
    fn path(&self, error: &Status) -> Option<(String, String)> {
        let violations = error.details.iter().flat_map(|detail| &detail.field_violations);
        let mut named = violations.map(|violation| violation.field.as_str());
        let words = || {
            error
                .message
                .split([' ', '\'', '"', '\n', '*'])
                .map(|word| word.trim_end_matches([':', ',', '.']))
        };
        named
            .find_map(|path| self.own(path))
            .or_else(|| words().filter(|word| word.contains(['[', '_'])).find_map(|word| self.own(word)))
    }

    fn own(&self, theirs: &str) -> Option<(String, String)> {
        let path = theirs.strip_prefix("GenerateContentRequest.").unwrap_or(theirs);
        let (head, own) = FIELDS.iter().find(|(head, _)| path.starts_with(head))?;
        let rest = &path[head.len()..];
        if !rest.is_empty() && !rest.starts_with(['.', '[']) {
            return None;
        }
        let own = match *head {
            "contents" => match first_index(rest).and_then(|at| self.state.contents.get(at)) {
                Some(message) => format!("messages.{message}"),
                None => (*own).to_owned(),
            },
            // `tools[0].function_declarations[3]`: all of them are in one.
            "tools" => match rest.split_once("function_declarations").and_then(|(_, rest)| first_index(rest))
            {
                Some(tool) => format!("tools.{tool}"),
                None => (*own).to_owned(),
            },
            _ => (*own).to_owned(),
        };
        Some((theirs.to_owned(), own))
    }
}

impl Status {
    /// The pause that Google asks for.
    fn retry_after_ms(&self) -> Option<u32> {
        let delay = self.details.iter().find_map(|detail| detail.retry_delay.as_deref())?;
        let (seconds, fraction) =
            delay.strip_suffix('s')?.split_once('.').unwrap_or((delay.strip_suffix('s')?, ""));
        // A part of a second is as long as a whole one: clients are told seconds.
        let more = u32::from(fraction.bytes().any(|digit| digit != b'0'));
        seconds.parse::<u32>().ok()?.checked_add(more)?.checked_mul(1000)
    }
}

/// The number in the brackets at the beginning.
fn first_index(path: &str) -> Option<usize> {
    path.strip_prefix('[')?.split(']').next()?.parse().ok()
}

/// The error in a body; `None` for a page of a server between.
fn read(body: &str) -> Option<Status> {
    match serde_json::from_str(body).ok()? {
        Body::One(wrapped) => Some(wrapped.error),
        Body::Many(all) => all.into_iter().next().map(|wrapped| wrapped.error),
    }
}

fn account() -> TextFailure {
    TextFailure::new(Obstacle::Account, NO_ACCOUNT)
}

/// What a status alone says.
fn by_code(code: u16) -> TextFailure {
    match code {
        401..=403 => account(),
        413 => TextFailure::new(Obstacle::TooLarge, "the request is too large for the provider"),
        429 => TextFailure::new(Obstacle::RateLimited, BUSY),
        503 => TextFailure::upstream("the provider is overloaded (HTTP 503)"),
        _ => TextFailure::upstream(format!("the provider failed (HTTP {code})")),
    }
}
