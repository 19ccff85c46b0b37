//! Words between the events of a stream: what servers write to keep a connection open, and what they write when they fail.

use gatehouse_sdk::{Sse, log};

use crate::failures::head;

/// Words of a failure, in lower case.
const FAILURES: [&str; 24] = [
    "abort",
    "bad gateway",
    "crash",
    "denied",
    "disconnect",
    "error",
    "exceed",
    "exception",
    "fail",
    "forbidden",
    "invalid",
    "not found",
    "out of memory",
    "overload",
    "quota",
    "rate limit",
    "refused",
    "terminated",
    "timed out",
    "timeout",
    "too many requests",
    "traceback",
    "unauthorized",
    "unavailable",
];

/// Whether an event is nothing of the answer: no object, and not the words of a failure. What begins as an object or a page does
/// is something, and so is a list with anything in it.
#[must_use]
pub fn is_notice(event: &Sse) -> bool {
    let data = event.data.trim();
    let is_part = data.is_empty() || data == "[DONE]" || data.starts_with(['{', '<']);
    // An event of the answer without its object: something of it is lost.
    let of_answer = ["error", "message_", "content_block_"];
    if is_part
        || event.event.as_deref().is_some_and(|name| of_answer.iter().any(|part| name.starts_with(part)))
    {
        return false;
    }
    let is_list = data.starts_with('[')
        && serde_json::from_str::<Vec<serde::de::IgnoredAny>>(data).is_ok_and(|items| !items.is_empty());
    let said = data.to_ascii_lowercase();
    if is_list || FAILURES.iter().any(|word| said.contains(word)) {
        return false;
    }
    log::debug("an event that is no part of the answer was left out", &[("data", head(data))]);
    true
}

/// Whether what was left out is surely no failure: a word in brackets, a value of JSON, or a usual word that keeps a connection
/// open.
#[must_use]
pub fn is_harmless(data: &str) -> bool {
    let data = data.trim();
    let letters: String = data.chars().filter(char::is_ascii_alphabetic).collect();
    data.starts_with('[')
        || serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok()
        || ["ping", "pong", "keepalive", "heartbeat"].iter().any(|word| letters.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a server's word to keep the connection open fails the answer, or its failure is half an answer.
    #[test]
    fn words_are_left_out_unless_something_failed() {
        for (name, data, expected) in [
            (None, "[PING]", true),
            (None, "some words", true),
            (None, "5", true),
            (None, "true", true),
            (None, "null", true),
            (None, "[]", true),
            (None, "\"keep-alive\"", true),
            (Some("message"), "heartbeat", true),
            (None, "", false),
            (None, "[DONE]", false),
            (None, "{\"cut", false),
            (None, "{}", false),
            (None, "[{}]", false),
            (None, "<html>", false),
            (None, "Internal Server Error", false),
            (None, "\"upstream timed out\"", false),
            (None, "[ERROR] no memory", false),
            (Some("error"), "null", false),
            (Some("message_start"), "7", false),
        ] {
            let event = Sse { event: name.map(str::to_owned), data: data.to_owned() };
            assert_eq!(is_notice(&event), expected, "{name:?} {data}");
        }
    }
}
