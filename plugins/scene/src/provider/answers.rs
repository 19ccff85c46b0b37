//! What the provider answers to submissions and polls.

use gatehouse_sdk::{Failure, Reply, log};
use serde::Deserialize;
use serde_json::Value;

use super::errors::{ErrorStatus, Meaning, failed, unavailable};
use super::moderation;
use super::videos::Ready;

/// The longest name of an operation.
const MAX_NAME: usize = 512;

/// The outcome of a submission.
#[derive(Debug, PartialEq)]
pub(crate) enum Submitted {
    /// With the name of the operation.
    Accepted(String),
    /// Too many requests; it was not accepted.
    Busy,
    Failed(Failure),
}

pub(crate) fn submitted(reply: &Reply) -> Submitted {
    let operation = reply.json::<Operation>().ok().and_then(|operation| operation.name);
    if let (true, Some(name)) = (reply.is_success(), operation.filter(|name| is_name(name))) {
        return Submitted::Accepted(name);
    }
    let (error, status) = (ErrorStatus::of(reply), reply.status.to_string());
    match error.meaning(reply.status) {
        Meaning::Busy => Submitted::Busy,
        Meaning::Account => {
            error.log_account(&status);
            Submitted::Failed(unavailable())
        }
        Meaning::Client(failure) => {
            error.log("the provider refused a submission", &status);
            Submitted::Failed(failure)
        }
        Meaning::Other => {
            error.log("a submission failed", &status);
            Submitted::Failed(failed())
        }
    }
}

/// The answer to a poll.
#[derive(Debug, PartialEq)]
pub(crate) enum Polled {
    Working,
    /// With at least one video.
    Ready(Ready),
    /// The provider does not know the operation, or not yet.
    Missing,
    /// Asked too often.
    Busy,
    /// Unreadable, with the reason for the log.
    Faulty(String),
    Failed(Failure),
}

pub(crate) fn polled(reply: &Reply) -> Polled {
    if reply.is_success() {
        return match reply.json::<Operation>() {
            Ok(operation) => operation.polled(),
            Err(error) => Polled::Faulty(error.to_string()),
        };
    }
    let (error, status) = (ErrorStatus::of(reply), reply.status);
    match (status, error.meaning(status)) {
        (404, _) => Polled::Missing,
        (_, Meaning::Busy) => Polled::Busy,
        (_, Meaning::Account) => {
            error.log_account(&status.to_string());
            Polled::Failed(unavailable())
        }
        _ => Polled::Faulty(format!("HTTP {status}: {}", error.message)),
    }
}

/// A long-running operation.
#[derive(Deserialize)]
struct Operation {
    name: Option<String>,
    #[serde(default)]
    done: bool,
    error: Option<ErrorStatus>,
    response: Option<Value>,
}

impl Operation {
    fn polled(self) -> Polled {
        match (self.done, self.error, self.response) {
            (false, None, _) if self.name.is_none() => Polled::Faulty("an answer without `name`".to_owned()),
            (false, None, _) => Polled::Working,
            (_, Some(error), _) => Polled::Failed(failure(&error)),
            (true, None, Some(response)) => match Ready::of(&response) {
                Ok(ready) if ready.videos.is_empty() => Polled::Failed(without_video(&ready)),
                Ok(ready) => {
                    if ready.filtered > 0 {
                        log::info(
                            "the provider's filters took some videos",
                            &[("reasons", &ready.reasons.join("; "))],
                        );
                    }
                    Polled::Ready(ready)
                }
                Err(reason) => Polled::Faulty(reason),
            },
            (true, None, None) => Polled::Faulty("done, and neither `response` nor `error`".to_owned()),
        }
    }
}

/// A failure comes with HTTP 200 and the reason inside.
fn failure(error: &ErrorStatus) -> Failure {
    let status = "200";
    match error.of_operation() {
        Meaning::Account => {
            error.log_account(status);
            unavailable()
        }
        Meaning::Client(failure) => {
            error.log("the provider failed a task", status);
            failure
        }
        Meaning::Busy | Meaning::Other => {
            error.log("the provider failed a task", status);
            failed()
        }
    }
}

/// Without a video there is one reason only that a client can do something about.
fn without_video(ready: &Ready) -> Failure {
    if ready.filtered == 0 && ready.reasons.is_empty() {
        log::warn("an operation ended without a video", &[]);
        return failed();
    }
    log::warn("the provider's filters took every video", &[("reasons", &ready.reasons.join("; "))]);
    Failure::moderation(moderation::explanation(ready.reasons.iter().map(String::as_str)))
}

/// Names stand in paths.
fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    let fits = (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_plain);
    fits && name.contains("/operations/") && !name.starts_with('/') && !name.contains("..")
}
