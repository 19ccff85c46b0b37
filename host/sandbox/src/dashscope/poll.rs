//! Answers to polls: what a task says of itself.

use http::Response;
use serde_json::{Value, json};

use crate::common::clock::iso;
use crate::common::faults::Target;
use crate::common::markers::count;
use crate::common::server::{self, Body, UNAVAILABLE_PAGE};
use crate::dashscope::faults::{Marker, error, request_id};
use crate::dashscope::provider::Provider;
use crate::dashscope::signature;
use crate::dashscope::tasks::{DAY_MS, Task, failure};

/// Status words outside the documentation.
const ODD_WORDS: [&str; 2] = ["PREPROCESSING", "POSTPROCESSING"];
/// The provider writes times of Beijing.
const BEIJING_MS: u64 = 8 * 3_600_000;

pub(super) fn answer(provider: &Provider, id: &str, account: usize) -> Response<Body> {
    let now = provider.now();
    let mut tasks = provider.table();
    let Some(task) = tasks.own(id, account, now) else { return unknown(id) };
    let earlier = count(&mut task.record.polls);
    match task.faults.poll_fault(earlier) {
        Some(Marker::PollUnknown) => unknown(id),
        Some(Marker::PollSuspended) => wrapped(output(task, now, "SUSPENDED"), None),
        Some(Marker::PollMalformed) => {
            server::reply(200, "application/json", format!("{{\"request_id\":\"{id}\",\"output\":{{\"ta"))
        }
        Some(Marker::PollUnavailable) => html(),
        Some(Marker::PollOddStatus) => {
            wrapped(output(task, now, ODD_WORDS[earlier as usize % ODD_WORDS.len()]), None)
        }
        Some(fault) => error(fault).response(),
        None => state(provider, task, now),
    }
}

fn state(provider: &Provider, task: &mut Task, now: u64) -> Response<Body> {
    let status = task.status(now);
    let mut shown = output(task, now, status);
    match (status, failure(task)) {
        ("UNKNOWN", _) => return unknown(&task.record.id),
        ("FAILED", Some(reason)) => {
            (shown["code"], shown["message"]) = (reason.code.into(), reason.message.into());
        }
        ("SUCCEEDED", _) => {
            shown["orig_prompt"] = task.prompt.clone().into();
            if task.faults.at(Target::Ending).is_none() {
                shown["video_url"] = link(provider, task, now).into();
                task.links = task.links.saturating_add(1);
            }
            return wrapped(shown, Some(usage(task)));
        }
        _ => {}
    }
    wrapped(shown, None)
}

/// HTTP 200, whatever became of the task.
fn wrapped(output: Value, usage: Option<Value>) -> Response<Body> {
    let mut body = json!({ "request_id": request_id(), "output": output });
    if let Some(usage) = usage {
        body["usage"] = usage;
    }
    server::json(200, &body)
}

fn unknown(id: &str) -> Response<Body> {
    wrapped(json!({ "task_id": id, "task_status": "UNKNOWN" }), None)
}

/// The page of a proxy in front of the provider.
pub(super) fn html() -> Response<Body> {
    server::reply(503, "text/html", UNAVAILABLE_PAGE)
}

fn output(task: &Task, now: u64, status: &str) -> Value {
    let mut output = json!({
        "task_id": task.record.id,
        "task_status": status,
        "submit_time": time(task.record.at),
    });
    if let Some(begun) = task.begins_at.filter(|begun| *begun <= now) {
        output["scheduled_time"] = time(begun).into();
    }
    if let Some(end) = task.ends_at.filter(|end| *end <= now) {
        output["end_time"] = time(end).into();
    }
    output
}

fn usage(task: &Task) -> Value {
    let seconds = |milliseconds: u64| milliseconds.div_ceil(1000);
    let (whole, input) = (seconds(task.film.milliseconds), seconds(task.input_milliseconds));
    let mut usage = json!({
        "duration": whole,
        "input_video_duration": input,
        "output_video_duration": whole.saturating_sub(input),
        "video_count": 1,
        "SR": task.height,
    });
    if let Some(ratio) = &task.ratio {
        usage["ratio"] = ratio.clone().into();
    }
    usage
}

/// A freshly signed link to the task's file, or the faulty one its marker asks for.
fn link(provider: &Provider, task: &Task, now: u64) -> String {
    let path = format!("/{}.mp4", task.record.id);
    let fault = task.faults.fault(Target::Link);
    let is_dead = fault == Some(Marker::DeadLink) || fault == Some(Marker::ExpiredLink) && task.links == 0;
    let host = match fault {
        Some(Marker::PrivateLink) => return format!("http://169.254.169.254{path}"),
        Some(Marker::ForeignLink) => "https://results.foreign.example",
        _ => &provider.addresses.files,
    };
    let until = if is_dead { now } else { now.saturating_add(DAY_MS) };
    format!("{host}{path}?{}", signature::query(&provider.key, &path, until))
}

/// `YYYY-MM-DD HH:MM:SS.mmm`.
pub(super) fn time(ms: u64) -> String {
    let iso = iso(ms + BEIJING_MS).replace('T', " ").replace('Z', "");
    format!("{iso}.{:03}", ms % 1000)
}
