//! Lists of an account's tasks, the latest first, by status, model and time of creation, in pages. Only the tasks of a day are
//! known.

use http::Response;
use serde_json::{Value, json};

use crate::common::server::{self, Body, parameter};
use crate::dashscope::faults::{Refusal, request_id};
use crate::dashscope::poll::time;
use crate::dashscope::provider::Provider;
use crate::dashscope::tasks::Task;

const STATUSES: [&str; 6] = ["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELED", "UNKNOWN"];
/// Rows of a page: without `page_size`, and at most.
const USUAL_PAGE: usize = 10;
const MAX_PAGE: usize = 100;

pub(super) fn answer(provider: &Provider, query: &str, account: usize) -> Response<Body> {
    match page(provider, query, account) {
        Ok(body) => server::json(200, &body),
        Err(refusal) => refusal.response(),
    }
}

fn page(provider: &Provider, query: &str, account: usize) -> Result<Value, Refusal> {
    let number = |name: &str, usual: usize| match parameter(query, name).map(|text| text.parse()) {
        None => Ok(usual),
        Some(Ok(number)) if number > 0 => Ok(number),
        Some(_) => Err(Refusal::parameter(format!("{name} must be a positive integer"))),
    };
    let (page_no, page_size) = (number("page_no", 1)?, number("page_size", USUAL_PAGE)?.min(MAX_PAGE));
    let (from, to) = (moment(query, "start_time")?, moment(query, "end_time")?);
    let (wanted, model) = (parameter(query, "status"), parameter(query, "model_name"));
    if wanted.as_deref().is_some_and(|wanted| !STATUSES.contains(&wanted)) {
        return Err(Refusal::parameter(format!("status must be one of {}", STATUSES.join(", "))));
    }
    let (now, tasks) = (provider.now(), provider.table());
    let begun = |task: &Task| time(task.record.at).chars().filter(char::is_ascii_digit).collect::<String>();
    let found: Vec<Value> = tasks
        .of_account(account, now)
        .filter(|task| model.as_ref().is_none_or(|model| task.record.body["model"] == **model))
        .filter(|task| from.as_ref().is_none_or(|from| begun(task)[..14] >= **from))
        .filter(|task| to.as_ref().is_none_or(|to| begun(task)[..14] <= **to))
        .filter(|task| wanted.as_ref().is_none_or(|wanted| task.status(now) == *wanted))
        .map(|task| row(task, account, now))
        .collect();
    let total = found.len();
    let rows: Vec<Value> =
        found.into_iter().skip((page_no - 1).saturating_mul(page_size)).take(page_size).collect();
    Ok(json!({
        "request_id": request_id(), "data": rows, "total": total, "total_page": total.div_ceil(page_size),
        "page_no": page_no, "page_size": page_size,
    }))
}

/// A time of Beijing as `yyyymmddhhmmss`.
fn moment(query: &str, name: &str) -> Result<Option<String>, Refusal> {
    let Some(text) = parameter(query, name) else { return Ok(None) };
    if text.len() == 14 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(Some(text.into_owned()));
    }
    Err(Refusal::parameter(format!("{name} must have the form yyyymmddhhmmss")))
}

fn row(task: &Task, account: usize, now: u64) -> Value {
    let reached = |moment: Option<u64>| moment.filter(|moment| *moment <= now);
    json!({
        "task_id": task.record.id,
        "status": task.status(now),
        "model_name": task.record.body["model"],
        "api_key_id": account.to_string(),
        "region": "cn-beijing",
        "gmt_create": task.record.at,
        "start_time": reached(task.begins_at),
        "end_time": reached(task.ends_at),
    })
}
