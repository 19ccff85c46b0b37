//! The provider's protocol: submissions, polls, cancels, and the meaning of its answers.

mod codes;

use std::collections::BTreeMap;
use std::time::Duration;

use gatehouse_sdk::job::{Policy, Polled, Standing, Submitted};
use gatehouse_sdk::provider::{meant_status, plain_code};
use gatehouse_sdk::{Blame, Call, Context, Failure, Reply, lenient, log, source};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::request::{Mode, Model, VideoRequest};
use codes::{Meaning, meaning};

/// Its name in the operator's configuration.
pub(crate) const NAME: &str = "dashscope";
/// Time for one poll or cancel.
const POLL_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for a submission, which may carry an image.
const SUBMIT_TIMEOUT: Duration = Duration::from_secs(120);

/// What a client reads when the provider does not do it. A cancel may come after the submission, too.
pub(crate) const POLICY: Policy = Policy {
    failed: "the upstream failed to generate the video",
    uncopied: "the finished video could not be fetched from the upstream",
    cancelled: "cancelled before it was started",
    ..Policy::DEFAULT
};

/// The call that submits `request`.
pub(crate) fn submission(cx: &Context, request: &VideoRequest) -> Call {
    let model = upstream_model(cx, request.model, request.mode);
    let body = json!({"model": model, "input": request.input, "parameters": request.parameters});
    Call::post(NAME, "/api/v1/services/aigc/video-generation/video-synthesis")
        .header("x-dashscope-async", "enable")
        .json(&body)
        .once()
        .timeout(SUBMIT_TIMEOUT)
}

/// What an operator may set.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Settings {
    /// The provider's id of a model, by model and mode: `motion-2.6-text`, ...
    pub(crate) upstream_models: BTreeMap<String, String>,
}

/// The operator's choice, `upstream_models."<model>-<mode>"`, or the usual one.
fn upstream_model(cx: &Context, model: Model, mode: Mode) -> String {
    let usual = match (model, mode) {
        (Model::Motion26, Mode::Text) => "wan2.6-t2v",
        (Model::Motion26, Mode::Image | Mode::Effects) => "wan2.6-i2v",
        (Model::Motion27, Mode::Text) => "wan2.7-t2v",
        (Model::Motion27, Mode::Image | Mode::Effects) => "wan2.7-i2v",
    };
    let chosen = cx.settings_as::<Settings>().upstream_models.remove(&format!("{}-{mode}", model.id()));
    chosen.filter(|chosen| !chosen.is_empty()).unwrap_or_else(|| usual.to_owned())
}

pub(crate) fn poll(id: &str) -> Call {
    Call::get(NAME, format!("/api/v1/tasks/{id}")).cut_body().timeout(POLL_TIMEOUT)
}

/// Only a task that waits can be cancelled; the answer for any other is 400.
pub(crate) fn cancel(id: &str) -> Call {
    Call::post(NAME, format!("/api/v1/tasks/{id}/cancel")).safe().timeout(POLL_TIMEOUT)
}

/// The id of a task, from the answer to its submission.
pub(crate) fn submitted(reply: &Reply) -> Submitted<String> {
    let answer = Record::of(reply);
    if let (200..300, Ok(Record { output: Some(output), .. })) = (reply.status, &answer)
        && let Some(id) = output.task_id.as_deref().filter(|id| is_id(id))
    {
        return Submitted::Accepted(id.to_owned());
    }
    let (code, message) = answer.as_ref().map_or(("", ""), Record::reason);
    match meaning(reply.status, code, message) {
        Meaning::Busy => Submitted::Busy,
        Meaning::Account => Submitted::Failed(account(reply.status, code, message)),
        Meaning::Client(failure) => {
            log::warn("the provider refused a submission", &fields(&reply.status.to_string(), code, message));
            Submitted::Failed(failure)
        }
        Meaning::Other => {
            log::error("a submission failed", &fields(&reply.status.to_string(), code, message));
            Submitted::Failed(POLICY.failed())
        }
    }
}

/// A clear answer to a poll.
pub(crate) enum Answer {
    Waiting,
    Working,
    Ready { video: String },
}

pub(crate) fn polled(reply: &Reply) -> Polled<Answer> {
    let answer = match (reply.status, Record::of(reply)) {
        (200..300, Ok(Record { output: Some(output), .. })) => return output.polled(),
        (200..300, Err(error)) => return Polled::Faulty(error),
        (_, answer) => answer.unwrap_or_default(),
    };
    // An error may come with a status of success.
    let (code, message) = answer.reason();
    let status = meant_status(reply.status, code);
    match (status, meaning(status, code, message)) {
        (404, _) => Polled::Missing,
        (_, Meaning::Busy) => Polled::Busy,
        (401 | 403, _) | (_, Meaning::Account) => Polled::Failed(account(status, code, message)),
        // Whatever else is refused may be the poll.
        (_, Meaning::Client(failure)) if failure.blame == Blame::Moderation => Polled::Failed(failure),
        (status, _) => Polled::Faulty(format!("HTTP {status}: {code} {message}")),
    }
}

/// What the provider answers to everything: `{request_id, output}` or `{request_id, code, message}`, in some places with the
/// latter inside `error`.
#[derive(Default, Deserialize)]
struct Record {
    #[serde(default, deserialize_with = "lenient::value")]
    output: Option<Output>,
    #[serde(default, deserialize_with = "lenient::value")]
    error: Option<Reason>,
    #[serde(flatten)]
    reason: Reason,
}

#[derive(Default, Deserialize)]
struct Reason {
    #[serde(default, deserialize_with = "lenient::word")]
    code: Option<String>,
    #[serde(default, deserialize_with = "lenient::word")]
    message: Option<String>,
}

#[derive(Deserialize)]
struct Output {
    #[serde(default, deserialize_with = "lenient::word")]
    task_id: Option<String>,
    #[serde(default, deserialize_with = "lenient::word")]
    task_status: Option<String>,
    #[serde(default, deserialize_with = "lenient::word")]
    video_url: Option<String>,
    /// In place of `video_url`: some models answer so.
    #[serde(default)]
    results: Value,
    #[serde(flatten)]
    reason: Reason,
}

impl Record {
    fn of(reply: &Reply) -> Result<Self, String> {
        let body: Value = reply.json().map_err(|error| error.to_string())?;
        Self::deserialize(&body).map_err(|error| error.to_string())
    }

    fn reason(&self) -> (&str, &str) {
        self.error.as_ref().unwrap_or(&self.reason).words()
    }
}

impl Reason {
    fn words(&self) -> (&str, &str) {
        (self.code.as_deref().unwrap_or_default(), self.message.as_deref().unwrap_or_default())
    }

    /// Whether the code is one of the provider's failures of a known meaning.
    fn is_known(&self) -> bool {
        let (code, message) = self.words();
        meaning(400, code, message) != Meaning::Other
    }
}

impl Output {
    fn polled(self) -> Polled<Answer> {
        let Some(status) = &self.task_status else {
            return Polled::Faulty("an answer without `task_status`".to_owned());
        };
        match Standing::of(status) {
            Standing::Waiting => Polled::Clear(Answer::Waiting),
            // This protocol's word for a task that it does not know.
            Standing::Working if plain_code(status) == "unknown" => Polled::Missing,
            Standing::Working => Polled::Clear(Answer::Working),
            Standing::Done => self.finished(),
            Standing::Failed | Standing::Expired => Polled::Failed(failure(&self.reason)),
            Standing::Cancelled => {
                log::warn("the provider cancelled a task", &[]);
                Polled::Failed(POLICY.failed())
            }
            Standing::Missing => Polled::Missing,
        }
    }

    /// The video, or why it is missing: the one result may have failed in a task that has not.
    fn finished(&self) -> Polled<Answer> {
        let result = self.results.get(0).unwrap_or(&self.results);
        let places = [self.video_url.as_deref(), result["video_url"].as_str(), result["url"].as_str()];
        if let Some(video) = places.into_iter().flatten().find_map(source::result) {
            return Polled::Clear(Answer::Ready { video });
        }
        match Reason::deserialize(result) {
            // Other codes, such as `200`, may stand beside a link that is yet to come.
            Ok(reason) if reason.is_known() => Polled::Failed(failure(&reason)),
            _ => Polled::Faulty("SUCCEEDED without a URL in `video_url`".to_owned()),
        }
    }
}

/// A failure comes with HTTP 200 and the reason inside.
fn failure(reason: &Reason) -> Failure {
    let (code, message) = reason.words();
    let meaning = meaning(400, code, message);
    if meaning == Meaning::Account {
        return account(200, code, message);
    }
    log::warn("the provider failed a task", &fields("200", code, message));
    match meaning {
        Meaning::Client(failure) => failure,
        Meaning::Account | Meaning::Busy | Meaning::Other => POLICY.failed(),
    }
}

/// The operator's account was refused.
fn account(status: u16, code: &str, message: &str) -> Failure {
    log::error("the provider refused the operator's account", &fields(&status.to_string(), code, message));
    POLICY.account()
}

fn fields<'a>(status: &'a str, code: &'a str, message: &'a str) -> [(&'a str, &'a str); 3] {
    [("status", status), ("code", code), ("message", message)]
}

/// Ids stand in paths.
fn is_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=128).contains(&id.len()) && id.bytes().all(is_plain)
}
