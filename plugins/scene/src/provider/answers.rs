//! What the provider answers to submissions and polls.

use gatehouse_sdk::job::{Polled, Submitted};
use gatehouse_sdk::{Failure, Reply, lenient, log};
use serde::Deserialize;
use serde_json::Value;

use super::errors::{ErrorStatus, Meaning, POLICY};
use super::moderation;
use super::videos::Ready;

/// The longest name of an operation.
const MAX_NAME: usize = 512;

/// The name of the operation that was begun.
pub(crate) fn submitted(reply: &Reply) -> Submitted<String> {
    let operation = reply.json::<Operation>().ok().and_then(|operation| operation.name);
    if let (true, Some(name)) = (reply.is_success(), operation.filter(|name| is_name(name))) {
        return Submitted::Accepted(name);
    }
    let error = ErrorStatus::of(reply);
    let meaning = error.meaning(reply.status);
    let what = match meaning {
        Meaning::Busy => return Submitted::Busy,
        Meaning::Client(_) => "the provider refused a submission",
        Meaning::Account | Meaning::Other => "a submission failed",
    };
    Submitted::Failed(failure(&error, meaning, reply.status, what))
}

/// A clear answer to a poll.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    Working,
    /// With at least one video.
    Ready(Ready),
}

pub(crate) fn polled(reply: &Reply) -> Polled<Answer> {
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
            error.log_account(status);
            Polled::Failed(POLICY.account())
        }
        _ => Polled::Faulty(format!("HTTP {status}: {}", error.message)),
    }
}

/// A long-running operation.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Operation {
    #[serde(deserialize_with = "lenient::word")]
    name: Option<String>,
    #[serde(deserialize_with = "lenient::value")]
    done: Option<bool>,
    error: Value,
    response: Option<Value>,
}

impl Operation {
    fn polled(self) -> Polled<Answer> {
        let error = lenient::is_error(&self.error).then(|| ErrorStatus::read(&self.error));
        match (self.done.unwrap_or(false), error, self.response) {
            (false, None, _) if self.name.is_none() => Polled::Faulty("an answer without `name`".to_owned()),
            (false, None, _) => Polled::Clear(Answer::Working),
            // A server between says that it is asked too often: the operation goes on.
            (false, Some(error), _) if error.meaning(200) == Meaning::Busy => Polled::Busy,
            // A failure comes with HTTP 200 and the reason inside.
            (_, Some(error), _) => {
                Polled::Failed(failure(&error, error.of_operation(), 200, "the provider failed a task"))
            }
            (true, None, Some(response)) => match Ready::of(&response) {
                Ok(ready) if ready.videos.is_empty() => Polled::Failed(without_video(&ready)),
                Ok(ready) => {
                    if ready.filtered > 0 {
                        log::info(
                            "the provider's filters took some videos",
                            &[("reasons", &ready.reasons.join("; "))],
                        );
                    }
                    Polled::Clear(Answer::Ready(ready))
                }
                Err(reason) => Polled::Faulty(reason),
            },
            (true, None, None) => Polled::Faulty("done, and neither `response` nor `error`".to_owned()),
        }
    }
}

/// What a client reads of an error that is final; `what` has happened, for the operator.
fn failure(error: &ErrorStatus, meaning: Meaning, status: u16, what: &str) -> Failure {
    if meaning == Meaning::Account {
        error.log_account(status);
        return POLICY.account();
    }
    error.log(what, status);
    match meaning {
        Meaning::Client(failure) => failure,
        Meaning::Account | Meaning::Busy | Meaning::Other => POLICY.failed(),
    }
}

/// Without a video there is one reason only that a client can do something about.
fn without_video(ready: &Ready) -> Failure {
    if ready.filtered == 0 && ready.reasons.is_empty() {
        log::warn("an operation ended without a video", &[]);
        return POLICY.failed();
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
