//! The data plane: the call that makes a video, and what the answers mean.
//!
//! Every default is sent, because the provider's own differ by model. `execution_expires_after` is the shortest the
//! provider takes: past the gateway's own deadline a video is of no use.

use std::collections::BTreeMap;
use std::time::Duration;

use gatehouse_sdk::job::{Policy, Polled, Standing, Submitted};
use gatehouse_sdk::lenient::{self, is_error, word_of};
use gatehouse_sdk::provider::meant_status;
use gatehouse_sdk::{Call, Context, Failure, Reply, source};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::upstream_error::{ErrorKind, UpstreamError};
use crate::video::media::Kind;
use crate::video::params::Model;
use crate::video::request::{Prompt, Reference, VideoRequest};

/// Its name in the operator's configuration.
pub(crate) const NAME: &str = "ark";
const TASKS: &str = "/contents/generations/tasks";
/// What an upstream failure failed to do.
const MAKE: &str = "generate the video";
/// What a client reads when the provider does not do it.
pub(crate) const POLICY: Policy = Policy {
    failed: "the upstream failed to generate the video",
    uncopied: "the finished video could not be fetched from the upstream",
    ..Policy::DEFAULT
};
/// Time for one poll.
const POLL_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for a submission, which may carry nine images.
const SUBMIT_TIMEOUT: Duration = Duration::from_secs(180);
/// Seconds; the least of the provider's range.
const EXPIRES_AFTER: u32 = 3600;

/// What an operator may set.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Settings {
    /// The provider's name of a model, or an endpoint of the operator's own, by the model's id.
    pub(crate) models: BTreeMap<String, String>,
}

/// The provider's name of a model.
fn upstream_model(cx: &Context, model: Model) -> String {
    let chosen = cx.settings_as::<Settings>().models.remove(model.id());
    chosen.unwrap_or_else(|| model.upstream().to_owned())
}

/// The call that submits `request`.
pub(crate) fn submission(cx: &Context, request: &VideoRequest) -> Call {
    let call = Call::post(NAME, TASKS).json(&body(cx, request)).affinity(request.account.clone());
    call.once().timeout(SUBMIT_TIMEOUT)
}

fn body(cx: &Context, request: &VideoRequest) -> Value {
    let text = request.prompt.as_ref().map(|prompt| match prompt {
        Prompt::Text(text) => text.clone(),
        Prompt::Blob(blob) => format!("{blob}:text"),
        Prompt::Brief => String::new(),
    });
    let text = text.map(|text| json!({"type": "text", "text": text}));
    let content: Vec<_> = text.into_iter().chain(request.references.iter().map(item)).collect();
    let mut body = json!({
        "model": upstream_model(cx, request.model),
        "content": content,
        "resolution": request.resolution,
        "ratio": request.size,
        "duration": request.duration,
        "generate_audio": request.generate_audio,
        "return_last_frame": request.return_last_frame,
        "watermark": false,
        "execution_expires_after": EXPIRES_AFTER,
    });
    if let Some(seed) = request.seed {
        body["seed"] = json!(seed);
    }
    if !request.tools.is_empty() {
        body["tools"] = json!(request.tools);
    }
    body
}

fn item(reference: &Reference) -> Value {
    let kind = match reference.kind {
        Kind::Image => "image_url",
        Kind::Video => "video_url",
        Kind::Audio => "audio_url",
    };
    json!({"type": kind, kind: {"url": reference.source}, "role": reference.role})
}

/// The id of a task, from the answer to its submission.
pub(crate) fn submitted(cx: &Context, model: Model, reply: &Reply) -> Submitted<String> {
    let error = UpstreamError::of(reply);
    if reply.is_success() {
        let id = reply.json::<Value>().ok().and_then(|body| word_of(&body["id"]));
        match id.filter(|id| is_id(id)) {
            Some(id) => return Submitted::Accepted(id),
            // The answer names no task, so there is nothing to poll.
            None if error.code.is_empty() => {
                let unreadable = UpstreamError::unreadable("it has no id");
                unreadable.log("a submission was answered without a task", reply.status);
                return Submitted::Failed(POLICY.failed());
            }
            // An error that comes with a status of success.
            None => {}
        }
    }
    let kind = error.kind(reply.status);
    if kind == ErrorKind::Busy {
        return Submitted::Busy;
    }
    error.log("a submission failed", reply.status);
    Submitted::Failed(error.failure(kind, MAKE, &[(&upstream_model(cx, model), model.id())]))
}

/// Whether a text may be an id of the provider, which stands in paths.
pub(crate) fn is_id(id: &str) -> bool {
    (1..=128).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// The call that asks for a task.
pub(crate) fn poll(id: &str) -> Call {
    Call::get(NAME, format!("{TASKS}/{id}")).cut_body().timeout(POLL_TIMEOUT)
}

/// The call that takes a task out of the queue. To repeat it is harmless: what is gone stays gone.
pub(crate) fn stop(id: &str) -> Call {
    Call::new(NAME, "DELETE", format!("{TASKS}/{id}")).safe().timeout(POLL_TIMEOUT)
}

/// A clear answer to a poll.
pub(crate) enum Answer {
    Queued,
    Running,
    Ready(Ready),
}

/// A finished task.
pub(crate) struct Ready {
    pub(crate) video: String,
    pub(crate) last_frame: Option<String>,
    /// What follow-ups may want to know.
    pub(crate) private: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Record {
    #[serde(deserialize_with = "lenient::word")]
    status: Option<String>,
    #[serde(deserialize_with = "lenient::value")]
    content: Option<Content>,
    error: Value,
    model: Value,
    seed: Value,
    usage: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Content {
    #[serde(deserialize_with = "lenient::word")]
    video_url: Option<String>,
    #[serde(deserialize_with = "lenient::word")]
    last_frame_url: Option<String>,
}

pub(crate) fn polled(cx: &Context, model: Model, reply: &Reply) -> Polled<Answer> {
    if reply.is_success() {
        match reply.json::<Record>() {
            // An error that comes with a status of success.
            Ok(record) if record.status.is_none() && is_error(&record.error) => {}
            Ok(record) => return record.meaning(cx, model),
            Err(error) => return Polled::Faulty(error.to_string()),
        }
    }
    let error = UpstreamError::of(reply);
    let status = meant_status(reply.status, &error.code);
    match error.kind(status) {
        ErrorKind::Busy => Polled::Busy,
        ErrorKind::Account if status != 404 => {
            error.log("the provider refused the operator's account", status);
            Polled::Failed(POLICY.account())
        }
        _ if status == 404 => Polled::Missing,
        kind @ ErrorKind::Moderation => Polled::Failed(error.failure(kind, MAKE, &[])),
        _ => Polled::Faulty(format!("HTTP {status}: {} {}", error.code, error.message)),
    }
}

impl Record {
    fn meaning(self, cx: &Context, model: Model) -> Polled<Answer> {
        let content = self.content.unwrap_or_default();
        let Some(status) = self.status else {
            return Polled::Faulty("an answer without `status`".to_owned());
        };
        let link = |url: Option<String>| url.as_deref().and_then(source::result);
        match Standing::of(&status) {
            Standing::Waiting => Polled::Clear(Answer::Queued),
            Standing::Working => Polled::Clear(Answer::Running),
            Standing::Missing => Polled::Missing,
            Standing::Done => match link(content.video_url) {
                Some(video) => Polled::Clear(Answer::Ready(Ready {
                    video,
                    last_frame: link(content.last_frame_url),
                    private: json!({"model": self.model, "seed": self.seed, "usage": self.usage}),
                })),
                None => Polled::Faulty("succeeded without a URL in content.video_url".to_owned()),
            },
            Standing::Failed => {
                let error = UpstreamError::read(&self.error);
                let kind = match error.kind(200) {
                    // Nothing is asked again: the task has ended.
                    ErrorKind::Busy => ErrorKind::Provider,
                    kind => kind,
                };
                error.log("the provider failed a task", 200);
                Polled::Failed(error.failure(kind, MAKE, &[(&upstream_model(cx, model), model.id())]))
            }
            Standing::Expired => {
                Polled::Failed(Failure::upstream("the upstream did not finish the video in time"))
            }
            Standing::Cancelled => {
                Polled::Failed(Failure::upstream("the video was cancelled at the upstream"))
            }
        }
    }
}
