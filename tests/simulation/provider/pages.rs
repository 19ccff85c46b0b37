//! What the provider's endpoints for tasks share: answers as the plan has them, the state of a job, and the check of
//! the account.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use serde_json::{Value, json};

use crate::clock::VirtualClock;
use crate::provider::HungUp;
use crate::record::outcomes::{Answer, JobEnd};
use crate::simulation::Simulation;

pub(crate) type Page = Response<Full<Bytes>>;

/// A job exists in the account that made it, and nowhere else.
pub(super) fn check_account(simulation: &Simulation, job: usize, account: &str, what: &str) {
    let made_by = simulation.provider().jobs.get(job).map(|job| job.account.clone());
    if made_by.as_deref() != Some(account) {
        simulation.fail(format!("affinity: job {job} of {made_by:?} {what} in account {account:?}"));
    }
}

/// An answer as the plan has it; `taken` makes the good one.
pub(super) async fn answered(
    simulation: &Simulation,
    answer: Answer,
    taken: impl FnOnce() -> Page,
) -> Result<Page, HungUp> {
    match answer {
        Answer::Take => Ok(taken()),
        Answer::Repeat => {
            simulation.count("a token was repeated");
            Ok(taken())
        }
        Answer::TakeSlowly(ms) => {
            VirtualClock::pause(Duration::from_millis(ms)).await;
            Ok(taken())
        }
        Answer::TakeAndAnswerGarbage => Ok(text(200, "<html>bad gateway</html>")),
        Answer::HangUp | Answer::TakeAndHangUp => Err(HungUp),
        Answer::TooMany(after) => Ok(too_many(after)),
        Answer::Error(status) => Ok(page(status, &json!({"detail": "the provider is broken"}))),
    }
}

/// The state of a job, as a poll shows it.
pub(super) fn status(simulation: &Simulation, number: usize) -> (u16, Value) {
    let now = simulation.clock.elapsed();
    let job = simulation.provider().jobs[number].clone();
    let id = format!("id={number}");
    let status = |word: &str, result: Value| (200, json!({"id": id, "status": word, "result": result}));
    if job.stopped {
        return status("Error", Value::Null);
    }
    if now < job.done {
        // It may be less than it was before. Not random: until its first crash a run is as any other of its plan.
        let progress = json!((now % 100) as f64 / 100.0);
        return (200, json!({"id": id, "status": "Pending", "progress": progress}));
    }
    match simulation.provider().outcome(&job.prompt).end {
        JobEnd::Ready => {
            let sample = format!("http://delivery.provider.test/{number}.png");
            status("Ready", json!({"sample": sample, "seed": 1}))
        }
        JobEnd::Empty => status("Ready", json!({})),
        JobEnd::Moderated => status("Content Moderated", Value::Null),
        JobEnd::Error => status("Error", Value::Null),
        JobEnd::Never => status("Pending", Value::Null),
        JobEnd::Lost => (404, json!({"id": id, "status": "Task not found"})),
    }
}

pub(super) fn too_many(after: Option<u64>) -> Page {
    let mut page = page(429, &json!({"detail": "too many tasks in flight"}));
    if let Some(after) = after {
        page.headers_mut().insert("retry-after", after.into());
    }
    page
}

pub(super) fn page(status: u16, body: &Value) -> Page {
    let body = Full::new(Bytes::from(body.to_string()));
    Response::builder().status(status).header("content-type", "application/json").body(body).expect("valid")
}

pub(super) fn text(status: u16, body: &'static str) -> Page {
    let body = Full::new(Bytes::from_static(body.as_bytes()));
    Response::builder().status(status).header("content-type", "text/html").body(body).expect("valid")
}
