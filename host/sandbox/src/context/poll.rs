//! The polling origin: `GET /v1/get_result?id=`, without a key. Accepts no jobs.

use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::common::server::{self, Body, Handler, HandlerResult, with};
use crate::context::faults::{Ending, LinkFault, PollFault};
use crate::context::jobs::Job;
use crate::context::provider::Provider;
use crate::context::refusal::{Refusal, field_error};

/// The polls a minute that the headers announce. The real provider does not enforce it, nor does this one.
const POLLS_A_MINUTE: u32 = 1200;
/// Status words outside the schema; some occur at the provider's other models.
const ODD_WORDS: [&str; 3] = ["Reasoning", "Generating", "Warming Up"];

/// The polling listener.
pub(crate) struct PollEndpoint(pub(crate) Arc<Provider>);

impl Handler for PollEndpoint {
    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> HandlerResult {
        if request.uri().path() != "/v1/get_result" {
            return Ok(Refusal::not_found().response());
        }
        if request.method() != Method::GET {
            return Ok(with(Refusal::method().response(), "allow", "GET"));
        }
        let query = request.uri().query().unwrap_or_default();
        let id = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "id").map(|(_, id)| id);
        Ok(match id {
            Some(id) => self.result(&id),
            None => {
                let missing =
                    field_error("missing", json!(["query", "id"]), "Field required", &Value::Null, None);
                Refusal::schema(vec![missing]).response()
            }
        })
    }
}

impl PollEndpoint {
    fn result(&self, id: &str) -> Response<Body> {
        let now = self.0.now();
        let mut jobs = self.0.jobs();
        let used = jobs.count_poll(now);
        let response = match jobs.job(id) {
            Some(job) => self.look(job, now),
            None => not_found(id),
        };
        drop(jobs);
        let reset = now / 60_000 * 60 + 60;
        let response = with(response, "retry-after", &self.0.settings.retry_after_s.to_string());
        let response = with(response, "x-ratelimit-limit", &POLLS_A_MINUTE.to_string());
        let left = POLLS_A_MINUTE.saturating_sub(used);
        let response = with(response, "x-ratelimit-remaining", &left.to_string());
        with(response, "x-ratelimit-reset", &format!("{reset}.0"))
    }

    fn look(&self, job: &mut Job, now: u64) -> Response<Body> {
        let earlier = job.record.polls;
        job.record.polls = earlier.saturating_add(1);
        let id = job.record.id.clone();
        match job.faults.poll_fault(earlier) {
            Some(PollFault::NotFound) => not_found(&id),
            Some(PollFault::Broken) => Refusal::broken().response(),
            Some(PollFault::Malformed) => server::reply(
                StatusCode::OK,
                "application/json",
                format!("{{\"id\":\"{id}\",\"status\":\"Rea"),
            ),
            Some(PollFault::OddStatus) => ok(&blank(&id, ODD_WORDS[earlier as usize % ODD_WORDS.len()])),
            None => match job.over_at.filter(|&end| end <= now) {
                Some(end) => ok(&self.ended(job, end, now)),
                None => ok(&pending(job, earlier, now)),
            },
        }
    }

    fn ended(&self, job: &mut Job, end: u64, now: u64) -> Value {
        let id = &job.record.id;
        match job.faults.ending {
            Ending::Ready => self.ready(job, end, now),
            Ending::RequestModerated => moderated(id, "Request Moderated"),
            Ending::ContentModerated => moderated(id, "Content Moderated"),
            Ending::Error => {
                let mut body = blank(id, "Error");
                body["details"] = json!({ "error": "Generation failed" });
                body
            }
        }
    }

    fn ready(&self, job: &mut Job, end: u64, now: u64) -> Value {
        let sample = self.link(job, now);
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
    fn link(&self, job: &Job, now: u64) -> String {
        let (id, format) = (&job.record.id, job.picture.format);
        let path = format!("/results/{}/{id}_sample.{}", &id[..2], format.name());
        let life = u64::try_from(self.0.settings.link_life.as_millis()).unwrap_or(u64::MAX);
        let (host, until) = match job.faults.link {
            Some(LinkFault::Private) => return format!("http://169.254.169.254{path}"),
            Some(LinkFault::Foreign) => ("https://delivery.foreign.example", now.saturating_add(life)),
            Some(LinkFault::Dead) => (self.0.addresses().delivery.as_str(), now),
            Some(LinkFault::ExpiredOnce) if job.links == 0 => (self.0.addresses().delivery.as_str(), now),
            _ => (self.0.addresses().delivery.as_str(), now.saturating_add(life)),
        };
        format!("{host}{path}?{}", self.0.signer.query(&path, until, format.mime()))
    }
}

fn ok(body: &Value) -> Response<Body> {
    server::json(StatusCode::OK, body)
}

/// A result with all fields, empty.
fn blank(id: &str, status: &str) -> Value {
    json!({ "id": id, "status": status, "result": null, "progress": null, "details": null, "preview": null })
}

fn not_found(id: &str) -> Response<Body> {
    server::json(StatusCode::NOT_FOUND, &blank(id, "Task not found"))
}

fn moderated(id: &str, status: &str) -> Value {
    let mut body = blank(id, status);
    body["details"] = json!({ "Moderation Reasons": ["Safety Filter"] });
    body
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
