//! Reads: one task, many tasks, a task's seed; and the cancelling of a task.
//!
//! An id nobody knows gets an empty answer, never an error: 204, or the body `null`, or nothing.

use http::Response;
use serde::Deserialize;
use serde_json::Value;

use crate::common::markers::count;
use crate::common::server::{self, Body, HandlerResult, reply};
use crate::midjourney::faults::Marker;
use crate::midjourney::provider::Provider;
use crate::midjourney::record::ListRead;
use crate::midjourney::refusal::Refusal;
use crate::midjourney::submit::answer::Answer;
use crate::midjourney::tasks::shown::{self, Links};
use crate::midjourney::tasks::task::Task;

/// `GET /mj/task/<id>/<kind>` and `POST /mj/task/<id>/cancel`.
pub(crate) fn one(provider: &Provider, account: usize, id: &str, kind: &str) -> HandlerResult {
    let now = provider.now();
    let mut tasks = provider.table();
    if kind == "fetch" {
        tasks.account(account).fetches += 1;
    }
    let Some(task) = tasks.task(account, id) else {
        return Ok(if kind == "fetch" { absent(2) } else { Refusal::not_found().response() });
    };
    Ok(match kind {
        "fetch" => {
            task.record.fetches = task.record.fetches.saturating_add(1);
            match read(provider, task, now) {
                Ok(shown) => server::json(200, &shown),
                Err(fault) => faulty(fault, task),
            }
        }
        "cancel" => {
            task.cancel(now);
            server::json(200, &Answer::noted(id).body)
        }
        _ => server::json(200, &Answer::noted(&task.seed()).body),
    })
}

/// The record of a task as this read finds it, or the fault it meets instead.
fn read(provider: &Provider, task: &mut Task, now: u64) -> Result<Value, Marker> {
    let earlier = count(&mut task.reads);
    let links = Links { files: &provider.addresses.files, key: &provider.key, now };
    match task.faults.poll_fault(earlier) {
        Some(fault @ (Marker::Lost | Marker::ReadBroken | Marker::ReadMalformed)) => Err(fault),
        Some(fault) => Ok(shown::odd(shown::task(task, &links, now), fault, earlier)),
        None => Ok(shown::task(task, &links, now)),
    }
}

/// The answer to the latest read of a task, which met a fault.
fn faulty(fault: Marker, task: &Task) -> Response<Body> {
    match fault {
        Marker::Lost => absent(task.reads - 1),
        Marker::ReadBroken => Refusal::broken().response(),
        _ => reply(200, "application/json", format!("{{\"id\":\"{}\",\"status\":\"IN_", task.record.id)),
    }
}

fn absent(earlier: u32) -> Response<Body> {
    match earlier % 3 {
        0 => reply(200, "application/json", ""),
        1 => reply(200, "application/json", "null"),
        _ => reply(204, "text/plain", ""),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Condition {
    ids: Option<Vec<String>>,
}

/// `POST /mj/task/list-by-condition`. Unknown ids are left out.
pub(crate) fn list(provider: &Provider, account: usize, body: Value) -> HandlerResult {
    let condition: Condition = match serde_json::from_value(body) {
        Ok(condition) => condition,
        Err(error) => return Ok(Refusal::binding(&error.to_string()).response()),
    };
    let ids = condition.ids.unwrap_or_default();
    let now = provider.now();
    let mut tasks = provider.table();
    tasks.count_list(ListRead { account, ids: ids.len(), at: now });
    let mut found = Vec::new();
    for id in &ids {
        let Some(task) = tasks.task(account, id) else { continue };
        task.record.listed = task.record.listed.saturating_add(1);
        match read(provider, task, now) {
            Ok(shown) => found.push(shown),
            Err(Marker::Lost) => {}
            Err(fault) => return Ok(faulty(fault, task)),
        }
    }
    Ok(server::json(200, &Value::Array(found)))
}
