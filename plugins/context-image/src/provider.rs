//! The provider's protocol: the submission, and the meaning of its answers. Messages for clients never name the
//! operator's account; that goes to the operator's log.

use std::time::Duration;

use gatehouse_sdk::job::{Policy, Polled, Standing, Submitted};
use gatehouse_sdk::provider::{meant_status, plain_code, shown};
use gatehouse_sdk::source::{self, is_url};
use gatehouse_sdk::{Call, Failure, Reply, lenient, log};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::params::Model;
use crate::request::ImageRequest;
use crate::sizes::Size;

mod detail;

/// Its name in the operator's configuration.
pub(crate) const NAME: &str = "bfl";
/// The longest id that is put into a path.
const MAX_ID: usize = 128;
/// Time for one poll.
const POLL_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for a submission, which may carry four images.
const SUBMIT_TIMEOUT: Duration = Duration::from_secs(120);

/// What a client reads when the provider does not do it.
pub(crate) const POLICY: Policy = Policy {
    failed: "the upstream failed to generate the image",
    uncopied: "the finished image could not be fetched from the upstream",
    ..Policy::DEFAULT
};

/// The call that submits `request`.
pub(crate) fn submission(request: &ImageRequest) -> Call {
    let path = match request.model {
        Model::Pro => "/v1/flux-kontext-pro",
        Model::Max => "/v1/flux-kontext-max",
    };
    Call::post(NAME, path).json(&body(request)).once().timeout(SUBMIT_TIMEOUT)
}

fn body(request: &ImageRequest) -> Value {
    let mut body = json!({
        "prompt": request.prompt,
        "output_format": request.format,
        "prompt_upsampling": request.upsampling,
        "safety_tolerance": request.tolerance,
    });
    if let Some(seed) = request.seed {
        body["seed"] = json!(seed);
    }
    // Without a ratio the picture follows the first reference.
    if let Size::Ratio(ratio) = request.size {
        body["aspect_ratio"] = json!(ratio.name);
    }
    for (index, reference) in request.references.iter().enumerate() {
        let name = if index == 0 { "input_image".to_owned() } else { format!("input_image_{}", index + 1) };
        body[name] = json!(reference);
    }
    body
}

/// The call that asks for a task.
pub(crate) fn poll(url: &str) -> Call {
    Call::get(NAME, url).cut_body().timeout(POLL_TIMEOUT)
}

/// A task as the provider names it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) polling_url: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Accepted {
    #[serde(deserialize_with = "lenient::word")]
    id: Option<String>,
    #[serde(deserialize_with = "lenient::word")]
    polling_url: Option<String>,
}

impl Accepted {
    /// Some servers of the same protocol have one address for all polls.
    fn task(self) -> Result<Task, String> {
        let id = self.id.ok_or("it has no id")?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        match self.polling_url {
            Some(polling_url) if is_url(&polling_url) || is_path(&polling_url) => {
                Ok(Task { id, polling_url })
            }
            None if id.len() <= MAX_ID && id.bytes().all(is_plain) => {
                Ok(Task { polling_url: format!("/v1/get_result?id={id}"), id })
            }
            polling_url => Err(format!("polling_url is no URL: {polling_url:?}")),
        }
    }
}

/// A path at the provider's own address.
fn is_path(text: &str) -> bool {
    text.starts_with('/') && !text.starts_with("//") && text.bytes().all(|byte| byte.is_ascii_graphic())
}

pub(crate) fn submitted(reply: &Reply) -> Submitted<Task> {
    let task = reply.json::<Accepted>().map_err(|error| error.to_string()).and_then(Accepted::task);
    let missing = match task {
        // A code beside a task says nothing: the task was taken, and sent again it would be paid twice.
        Ok(task) if reply.is_success() => return Submitted::Accepted(task),
        Ok(_) => String::new(),
        Err(error) => error,
    };
    // An error may come with a status of success.
    let status = meant_status(reply.status, &detail::code(reply));
    match status {
        401..=403 => Submitted::Failed(account(reply)),
        200..300 | 400 | 422 | 429 if detail::is_about_the_account(reply, status) => {
            Submitted::Failed(account(reply))
        }
        200..300 => {
            log::error("a submission was answered without a task", &[("error", &missing)]);
            Submitted::Failed(POLICY.failed())
        }
        429 => Submitted::Busy,
        400 | 422 => {
            let reason = detail::words(reply);
            log::warn("the provider refused parameters this family let through", &[("reason", &reason)]);
            Submitted::Failed(Failure::request(detail::for_client(reply)))
        }
        status => {
            log::error("a submission failed", &status_fields(&status.to_string(), &detail::words(reply)));
            Submitted::Failed(POLICY.failed())
        }
    }
}

/// The operator's account was refused.
fn account(reply: &Reply) -> Failure {
    let (status, reason) = (reply.status.to_string(), detail::words(reply));
    log::error("the provider refused the operator's account", &status_fields(&status, &reason));
    POLICY.account()
}

fn status_fields<'a>(status: &'a str, reason: &'a str) -> [(&'a str, &'a str); 2] {
    [("status", status), ("reason", reason)]
}

/// A clear answer to a poll.
pub(crate) enum Answer {
    /// Not finished; the progress in percent, when the provider reports it.
    Running(Option<u8>),
    Ready {
        sample: String,
        seed: Option<i64>,
    },
}

pub(crate) fn polled(reply: &Reply) -> Polled<Answer> {
    let record = reply.json::<Record>().map_err(|error| error.to_string());
    // A code beside a status says nothing: the task is what its status says, and may have been paid.
    if let (true, Ok(record)) = (reply.is_success(), &record)
        && let Some(status) = &record.status
    {
        return record.meaning(status);
    }
    // An error may come with a status of success.
    let status = meant_status(reply.status, &detail::code(reply));
    match status {
        200..300 => Polled::Faulty(record.err().unwrap_or_else(|| "an answer without `status`".to_owned())),
        404 => Polled::Missing,
        429 if detail::is_about_the_account(reply, status) => Polled::Failed(account(reply)),
        429 => Polled::Busy,
        401..=403 => Polled::Failed(account(reply)),
        status => Polled::Faulty(format!("HTTP {status}: {}", detail::words(reply))),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Record {
    #[serde(deserialize_with = "lenient::word")]
    status: Option<String>,
    result: Option<Value>,
    progress: Value,
    details: Option<Value>,
}

impl Record {
    fn meaning(&self, status: &str) -> Polled<Answer> {
        // Servers of the same protocol write the words in other letters.
        match plain_code(status).as_str() {
            "requestmoderated" => {
                return Polled::Failed(self.moderated("the prompt or a reference image", "input"));
            }
            "contentmoderated" => return Polled::Failed(self.moderated("the generated image", "output")),
            _ => {}
        }
        match Standing::of(status) {
            Standing::Done => self.ready(),
            Standing::Failed | Standing::Cancelled | Standing::Expired => {
                let reason = self.details.as_ref().or(self.result.as_ref()).map(ToString::to_string);
                log::warn("the provider failed a task", &[("reason", &reason.unwrap_or_default())]);
                Polled::Failed(POLICY.failed())
            }
            Standing::Missing => Polled::Missing,
            Standing::Waiting | Standing::Working => Polled::Clear(Answer::Running(self.percent())),
        }
    }

    /// At most 99; 100 is for finished images. This protocol counts to 1, and a whole 1 is the end of it.
    fn percent(&self) -> Option<u8> {
        let written = lenient::word_of(&self.progress);
        let is_whole = matches!(written.as_deref(), Some("1" | "1.0"));
        let percent = if is_whole { Some(100) } else { lenient::percent(&self.progress) };
        percent.map(|percent| percent.min(99))
    }

    fn ready(&self) -> Polled<Answer> {
        let result = self.result.as_ref();
        let sample = result.and_then(|result| result.get("sample")).and_then(Value::as_str);
        match sample.and_then(source::result) {
            Some(sample) => Polled::Clear(Answer::Ready {
                sample,
                seed: result.and_then(|result| result.get("seed")).and_then(Value::as_i64),
            }),
            None => Polled::Faulty("Ready without a URL in result.sample".to_owned()),
        }
    }

    fn moderated(&self, what: &str, side: &str) -> Failure {
        let listed = self.details.as_ref().and_then(|details| details.get("Moderation Reasons")?.as_array());
        let reasons = listed.into_iter().flatten().filter_map(Value::as_str);
        let reasons: Vec<_> = reasons.filter_map(|reason| shown(reason, &[], &detail::PRIVATE)).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join(", ")) };
        Failure::moderation(format!("{what} was stopped by {side} moderation{reasons}"))
    }
}
