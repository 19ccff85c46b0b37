//! The calls. A job is sent to the account that made its parent, at the path of its speed.

use std::time::Duration;

use gatehouse_sdk::{Call, Context};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::action::{Action, Speed};
use crate::job::{Body, Film, Job, ModalRequest};

/// Its name in the operator's configuration.
pub(crate) const NAME: &str = "midjourney";
/// Time for one poll.
pub(crate) const POLL_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for a submission, which may carry ten pictures.
const SUBMIT_TIMEOUT: Duration = Duration::from_secs(120);
/// The prompt of a film that has none of its own: the provider refuses an empty or blank one.
const MOVE: &str = "natural motion";
/// Polls of all tasks may become one.
const SHARED: &str = "tasks";

/// The call that makes a job.
pub(crate) fn create(cx: &Context, job: &Job) -> Call {
    let inputs: Vec<&str> = job.inputs.iter().map(|input| input.source.as_str()).collect();
    let first = inputs.first().copied().unwrap_or_default();
    let (path, body) = match &job.body {
        Body::Imagine if inputs.is_empty() => ("imagine", json!({"prompt": job.prompt})),
        Body::Imagine => ("imagine", json!({"prompt": job.prompt, "base64Array": inputs})),
        Body::Blend { dimensions } => ("blend", json!({"base64Array": inputs, "dimensions": dimensions})),
        Body::Describe => ("describe", json!({"base64": first})),
        Body::Edits => ("edits", json!({"prompt": job.prompt, "image": first})),
        Body::Press(press) => {
            let mut body =
                json!({"taskId": press.task, "customId": press.custom_id, "chooseSameChannel": true});
            if press.remix.is_some() {
                body["enableRemix"] = json!(true);
            }
            ("action", body)
        }
        Body::Change(change) => {
            let body = json!({"taskId": change.task, "action": job.action.shown(), "index": change.index});
            ("change", body)
        }
        Body::Video(film) => ("video", film_body(film, first, inputs.get(1).copied())),
    };
    // The provider makes films at no other speed than its own.
    let speed = (job.action != Action::Video).then_some(job.speed);
    submission(cx, path, speed, &body).affinity(job.account.clone())
}

/// The call that finishes a dialog, at the account that has it.
pub(crate) fn confirm(cx: &Context, job: &Job, id: &str, modal: &ModalRequest) -> Call {
    let mut body = json!({"taskId": id, "prompt": modal.prompt});
    if let Some(area) = &modal.area {
        body["maskBase64"] = json!(area.source);
    }
    submission(cx, "modal", Some(modal.speed), &body).affinity(job.account.clone())
}

/// The call that asks for a task.
pub(crate) fn fetch(id: &str) -> Call {
    Call::get(NAME, format!("/mj/task/{id}/fetch")).timeout(POLL_TIMEOUT).shared(SHARED, id)
}

/// A film is of a picture, never of a task: the provider takes a task's id for an extension of its film only.
fn film_body(film: &Film, first: &str, last: Option<&str>) -> Value {
    let mut body = json!({
        "prompt": if film.prompt.trim().is_empty() { MOVE } else { &film.prompt },
        "image": first,
        "motion": film.motion,
        "videoType": if film.is_720p { "vid_1.1_i2v_720" } else { "vid_1.1_i2v_480" },
        "batchSize": film.batch_size,
    });
    if let Some(last) = last {
        body["endImage"] = json!(last);
    }
    body
}

/// What an operator may set.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Settings {
    /// Whether the server has paths for speeds (`/mj-fast/...`): it does by default.
    pub(crate) speed_prefix: Option<bool>,
}

fn submission(cx: &Context, path: &str, speed: Option<Speed>, body: &Value) -> Call {
    // A server without paths for speeds: the operator sets `speed_prefix = false`.
    let has_prefix = cx.settings_as::<Settings>().speed_prefix != Some(false);
    let path = match speed.filter(|_| has_prefix) {
        Some(speed) => format!("/mj-{}/mj/submit/{path}", speed.name()),
        None => format!("/mj/submit/{path}"),
    };
    Call::post(NAME, path).json(body).once().timeout(SUBMIT_TIMEOUT)
}
