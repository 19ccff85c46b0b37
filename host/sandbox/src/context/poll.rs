//! The polling origin: `GET /v1/get_result?id=`, without a key. Accepts no jobs.

use std::sync::Arc;

use http::{Method, Request, Response};
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::common::faults::Target;
use crate::common::markers::count;
use crate::common::server::{self, Body, HandlerResult, parameter, with};
use crate::context::faults::Marker;
use crate::context::jobs::Job;
use crate::context::provider::Provider;
use crate::context::refusal::{Refusal, not_allowed};
use crate::context::signature;
use gatehouse_sandbox_files::format_name;

/// The polls a minute that the headers announce. The real provider does not enforce it, nor does this one.
const POLLS_A_MINUTE: u32 = 1200;
/// Status words outside the schema; some occur at the provider's other models.
const ODD_WORDS: [&str; 3] = ["Reasoning", "Generating", "Warming Up"];

/// The polling listener: answers its requests.
pub(crate) async fn handle(provider: Arc<Provider>, request: Request<Incoming>) -> HandlerResult {
    if request.uri().path() != "/v1/get_result" {
        return Ok(Refusal::not_found().response());
    }
    if request.method() != Method::GET {
        return Ok(not_allowed("GET"));
    }
    Ok(match parameter(request.uri().query().unwrap_or_default(), "id") {
        Some(id) => result(&provider, &id),
        None => {
            let loc = json!(["query", "id"]);
            Refusal::field("missing", loc, "Field required", &Value::Null, None).response()
        }
    })
}

fn result(provider: &Provider, id: &str) -> Response<Body> {
    let now = provider.now();
    let mut table = provider.table();
    let used = table.count_poll(now);
    let response = match table.jobs.get_mut(id) {
        Some(job) => answer(provider, job, now),
        None => not_found(id),
    };
    drop(table);
    let reset = format!("{}.0", now / 60_000 * 60 + 60);
    let left = POLLS_A_MINUTE.saturating_sub(used).to_string();
    let rate = [POLLS_A_MINUTE.to_string(), left, reset];
    let names = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
    let response = with(response, "retry-after", &provider.settings.retry_after_s.to_string());
    names.into_iter().zip(rate).fold(response, |response, (name, value)| with(response, name, &value))
}

fn answer(provider: &Provider, job: &mut Job, now: u64) -> Response<Body> {
    let earlier = count(&mut job.record.polls);
    let id = job.record.id.clone();
    match job.faults.poll_fault(earlier) {
        Some(Marker::PollBroken) => Refusal::broken().response(),
        Some(Marker::PollMalformed) => {
            server::reply(200, "application/json", format!("{{\"id\":\"{id}\",\"status\":\"Rea"))
        }
        Some(Marker::PollOddStatus) => {
            server::json(200, &blank(&id, ODD_WORDS[earlier as usize % ODD_WORDS.len()]))
        }
        Some(_) => not_found(&id),
        None => match job.over_at.filter(|&end| end <= now) {
            Some(end) => server::json(200, &ended(provider, job, end, now)),
            None => server::json(200, &pending(job, earlier, now)),
        },
    }
}

fn ended(provider: &Provider, job: &mut Job, end: u64, now: u64) -> Value {
    let moderation = json!({ "Moderation Reasons": ["Safety Filter"] });
    let (status, details) = match job.faults.at(Target::Ending) {
        None => return ready(provider, job, end, now),
        Some((Marker::RequestModerated, _)) => ("Request Moderated", moderation),
        Some((Marker::ContentModerated, _)) => ("Content Moderated", moderation),
        Some(_) => ("Error", json!({ "error": "Generation failed" })),
    };
    let mut body = blank(&job.record.id, status);
    body["details"] = details;
    body
}

fn ready(provider: &Provider, job: &mut Job, end: u64, now: u64) -> Value {
    let sample = link(provider, job, now);
    job.links = job.links.saturating_add(1);
    let mut body = blank(&job.record.id, "Ready");
    body["cost"] = job.record.cost.into();
    body["result"] = json!({
        "sample": sample,
        "prompt": job.prompt_used,
        "seed": job.seed,
        "start_time": seconds(job.record.at),
        "end_time": seconds(end),
        "duration": seconds(end - job.record.at),
    });
    body
}

/// A freshly signed link to the job's file, or the faulty one its marker asks for.
fn link(provider: &Provider, job: &Job, now: u64) -> String {
    let (id, format) = (&job.record.id, job.picture.format);
    let path = format!("/results/{}/{id}_sample.{}", &id[..2], format_name(format));
    let fault = job.faults.fault(Target::Link);
    let is_dead = fault == Some(Marker::DeadLink) || fault == Some(Marker::ExpiredLink) && job.links == 0;
    let host = match fault {
        Some(Marker::PrivateLink) => return format!("http://169.254.169.254{path}"),
        Some(Marker::ForeignLink) => "https://delivery.foreign.example",
        _ => &provider.addresses.delivery,
    };
    let until = provider.settings.link_end(now, is_dead);
    format!("{host}{path}?{}", signature::query(&provider.key, &path, until, format.to_mime_type()))
}

/// A result with all fields, empty.
fn blank(id: &str, status: &str) -> Value {
    json!({ "id": id, "status": status, "result": null, "progress": null, "details": null, "preview": null })
}

fn not_found(id: &str) -> Response<Body> {
    server::json(404, &blank(id, "Task not found"))
}

/// Progress is null at first, then a share of 1: clients meet both.
fn pending(job: &Job, earlier: u32, now: u64) -> Value {
    let mut body = blank(&job.record.id, "Pending");
    if earlier > 0 {
        let (start, end) = (job.record.at, job.over_at.unwrap_or(u64::MAX));
        let percent = now.saturating_sub(start).saturating_mul(100) / end.saturating_sub(start).max(1);
        body["progress"] = (f64::from(u32::try_from(percent.min(99)).unwrap_or(99)) / 100.0).into();
    }
    body
}

/// Seconds with three decimals, as the provider writes times.
fn seconds(ms: u64) -> Value {
    std::time::Duration::from_millis(ms).as_secs_f64().into()
}
