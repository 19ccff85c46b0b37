//! The provider's protocol: the submission, and the meaning of its answers. Messages for clients never name the
//! operator's account; that goes to the operator's log.

use std::time::Duration;

use gatehouse_sdk::{Call, Failure, Reply, log};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::params::Model;
use crate::request::ImageRequest;
use crate::sizes::Size;

mod detail;

/// Its name in the operator's configuration.
pub(crate) const NAME: &str = "bfl";
/// Time for one poll.
pub(crate) const POLL_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for a submission, which may carry four images.
const SUBMIT_TIMEOUT: Duration = Duration::from_secs(120);

/// The operator's account was refused, as a client reads it.
pub(crate) fn unavailable() -> Failure {
    Failure::upstream("No available upstream, please retry later")
}

/// The provider failed.
pub(crate) fn failed() -> Failure {
    Failure::upstream("the upstream failed to generate the image")
}

/// The call that submits `request`.
pub(crate) fn submission(request: &ImageRequest) -> Call {
    let path = match request.model {
        Model::Pro => "/v1/flux-kontext-pro",
        Model::Max => "/v1/flux-kontext-max",
    };
    Call::post(NAME, path).json(&Value::Object(body(request))).once().timeout(SUBMIT_TIMEOUT)
}

fn body(request: &ImageRequest) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("prompt".to_owned(), json!(request.prompt));
    body.insert("output_format".to_owned(), json!(request.format));
    body.insert("prompt_upsampling".to_owned(), json!(request.upsampling));
    body.insert("safety_tolerance".to_owned(), json!(request.tolerance));
    if let Some(seed) = request.seed {
        body.insert("seed".to_owned(), json!(seed));
    }
    // Without a ratio the picture follows the first reference.
    if let Size::Ratio(ratio) = request.size {
        body.insert("aspect_ratio".to_owned(), json!(ratio.name));
    }
    for (index, reference) in request.references.iter().enumerate() {
        let name = if index == 0 { "input_image".to_owned() } else { format!("input_image_{}", index + 1) };
        body.insert(name, json!(reference));
    }
    body
}

/// The outcome of a submission.
pub(crate) enum Submitted {
    Accepted {
        id: String,
        polling_url: String,
    },
    /// Too many tasks in flight; it was not accepted.
    Busy,
    Failed(Failure),
}

pub(crate) fn submitted(reply: &Reply) -> Submitted {
    #[derive(Deserialize)]
    struct Accepted {
        id: String,
        polling_url: String,
    }

    match reply.status {
        200..300 => match reply.json::<Accepted>() {
            Ok(Accepted { id, polling_url }) if is_url(&polling_url) => {
                Submitted::Accepted { id, polling_url }
            }
            Ok(Accepted { polling_url, .. }) => {
                without_task(&format!("polling_url is no URL: {polling_url:?}"))
            }
            Err(error) => without_task(&error.to_string()),
        },
        429 => Submitted::Busy,
        401..=403 => Submitted::Failed(account(reply)),
        422 if detail::is_about_the_key(reply) => Submitted::Failed(account(reply)),
        400 | 422 => {
            let reason = detail::words(reply);
            log::warn("the provider refused parameters this family let through", &[("reason", &reason)]);
            Submitted::Failed(Failure::request(reason))
        }
        status => {
            log::error("a submission failed", &status_fields(&status.to_string(), &detail::words(reply)));
            Submitted::Failed(failed())
        }
    }
}

/// The answer names no task, so there is nothing to poll.
fn without_task(error: &str) -> Submitted {
    log::error("a submission was answered without a task", &[("error", error)]);
    Submitted::Failed(failed())
}

/// Whether the text is a URL; the host checks whose it is.
fn is_url(text: &str) -> bool {
    let http = text.starts_with("https://") || text.starts_with("http://");
    http && !text.contains(|letter: char| letter.is_whitespace() || letter.is_control() || letter == '\\')
}

/// The operator's account was refused.
fn account(reply: &Reply) -> Failure {
    let (status, reason) = (reply.status.to_string(), detail::words(reply));
    log::error("the provider refused the operator's account", &status_fields(&status, &reason));
    unavailable()
}

fn status_fields<'a>(status: &'a str, reason: &'a str) -> [(&'a str, &'a str); 2] {
    [("status", status), ("reason", reason)]
}

/// The answer to a poll.
pub(crate) enum Polled {
    /// Not finished; the progress in percent, when the provider reports it.
    Running(Option<u8>),
    Ready {
        sample: String,
        seed: Option<i64>,
    },
    /// The provider does not know the task, or not yet.
    Missing,
    /// Asked too often.
    Busy,
    /// Unreadable, with the reason for the log.
    Faulty(String),
    Failed(Failure),
}

pub(crate) fn polled(reply: &Reply) -> Polled {
    match reply.status {
        200..300 => match reply.json::<Answer>() {
            Ok(answer) => answer.meaning(),
            Err(error) => Polled::Faulty(error.to_string()),
        },
        404 => Polled::Missing,
        429 => Polled::Busy,
        401..=403 => Polled::Failed(account(reply)),
        status => Polled::Faulty(format!("HTTP {status}: {}", detail::words(reply))),
    }
}

#[derive(Deserialize)]
struct Answer {
    status: String,
    result: Option<Value>,
    progress: Option<Value>,
    details: Option<Value>,
}

impl Answer {
    fn meaning(&self) -> Polled {
        match self.status.as_str() {
            "Ready" => self.ready(),
            "Request Moderated" => Polled::Failed(self.moderated("the prompt or a reference image", "input")),
            "Content Moderated" => Polled::Failed(self.moderated("the generated image", "output")),
            "Error" => {
                let reason = self.details.as_ref().or(self.result.as_ref()).map(ToString::to_string);
                log::warn("the provider failed a task", &[("reason", &reason.unwrap_or_default())]);
                Polled::Failed(failed())
            }
            "Task not found" => Polled::Missing,
            // "Pending", and whatever newer words mean: the host's deadline ends what never ends.
            _ => Polled::Running(self.progress.as_ref().and_then(Value::as_f64).map(percent)),
        }
    }

    fn ready(&self) -> Polled {
        let result = self.result.as_ref();
        match result.and_then(|result| result.get("sample")).and_then(Value::as_str) {
            Some(sample) if is_url(sample) => Polled::Ready {
                sample: sample.to_owned(),
                seed: result.and_then(|result| result.get("seed")).and_then(Value::as_i64),
            },
            _ => Polled::Faulty("Ready without a URL in result.sample".to_owned()),
        }
    }

    fn moderated(&self, what: &str, side: &str) -> Failure {
        let listed = self.details.as_ref().and_then(|details| details.get("Moderation Reasons")?.as_array());
        let reasons: Vec<_> = listed.into_iter().flatten().filter_map(Value::as_str).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join(", ")) };
        Failure::moderation(format!("{what} was stopped by {side} moderation{reasons}"))
    }
}

/// At most 99; 100 is for finished images.
fn percent(share: f64) -> u8 {
    (share * 100.0).round().clamp(0.0, 99.0) as u8
}
