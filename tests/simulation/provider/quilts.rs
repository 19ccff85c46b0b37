//! The provider's endpoints for quilts: patches, one call that stops a job, and polls for several jobs. It checks that
//! every call about a job comes from the account that made it.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::provider::HungUp;
use crate::provider::pages::{Page, answered, check_account, page, status, text, too_many};
use crate::record::outcomes::ListAnswer;
use crate::simulation::Simulation;

pub(super) async fn patch(simulation: &Simulation, body: &[u8], account: &str) -> Result<Page, HungUp> {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let (Some(prompt), Some(job)) = (request["prompt"].as_str(), job_of(simulation, &request)) else {
        return Ok(page(422, &json!({"detail": "a patch needs a prompt and a job"})));
    };
    check_account(simulation, job, account, "gets a patch");
    simulation.demand(simulation.memory().patch_arrives(prompt));
    let token = request["token"].as_str();
    let answer = simulation.provider().patch(prompt, token, job, simulation.clock.elapsed());
    simulation.log(format_args!("provider: patch {prompt:?} arrives, {answer:?}"));
    answered(simulation, answer, || page(200, &json!({"taken": true}))).await
}

/// Stops a job that is not done yet. It may be told so once.
pub(super) fn stop(simulation: &Simulation, body: &[u8], account: &str) -> Result<Page, HungUp> {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let Some(number) = job_of(simulation, &request) else {
        return Ok(page(404, &json!({"detail": "no such job"})));
    };
    check_account(simulation, number, account, "is stopped");
    let now = simulation.clock.elapsed();
    let job = {
        let mut provider = simulation.provider();
        let job = &mut provider.jobs[number];
        job.stops += 1;
        job.stopped |= now < job.done;
        job.clone()
    };
    simulation.log(format_args!("provider: {:?} is told to stop, and stopped: {}", job.prompt, job.stopped));
    if job.stops > 1 {
        simulation.fail(format!("{:?} was told to stop {} times", job.prompt, job.stops));
    }
    simulation.demand(simulation.memory().stop_arrives(&job.prompt));
    simulation.count("a provider was told to stop");
    Ok(page(200, &json!({"stopped": job.stopped})))
}

/// Every job that is asked about, by its number.
pub(super) async fn list(simulation: &Simulation, query: &str, account: &str) -> Result<Page, HungUp> {
    if let Some(after) = simulation.provider().outages.rate_limit(simulation.clock.elapsed()) {
        return Ok(too_many(after));
    }
    let ids: Vec<usize> =
        query.trim_start_matches("ids=").split(',').filter_map(|id| id.parse().ok()).collect();
    let distinct: BTreeSet<usize> = ids.iter().copied().collect();
    if distinct.len() != ids.len() || ids.len() < 2 {
        simulation.fail(format!("bulk: one poll asks about jobs {ids:?}"));
    }
    for id in &ids {
        check_account(simulation, *id, account, "was polled with others");
    }
    if ids.iter().any(|id| *id >= simulation.provider().jobs.len()) {
        return Ok(page(404, &json!({"detail": "no such job"})));
    }
    let answer = simulation.provider().lists.pop_front().unwrap_or(ListAnswer::Whole);
    simulation.log(format_args!("provider: a poll for jobs {ids:?}, {answer:?}"));
    simulation.count(match answer {
        ListAnswer::Whole => "one poll was for several jobs",
        ListAnswer::WithoutFirst => "a poll left one job out",
        _ => "a poll for several jobs failed",
    });
    let first = match answer {
        ListAnswer::Whole => 0,
        ListAnswer::WithoutFirst => 1,
        ListAnswer::Error(status) => return Ok(page(status, &json!({"detail": "try later"}))),
        ListAnswer::Garbage => return Ok(text(200, "{\"0\": {\"status\": \"Rea")),
        ListAnswer::HangUp => return Err(HungUp),
    };
    let mut all = Map::new();
    for id in &ids[first..] {
        all.insert(id.to_string(), status(simulation, *id).1);
    }
    Ok(page(200, &Value::Object(all)))
}

fn job_of(simulation: &Simulation, request: &Value) -> Option<usize> {
    let job = usize::try_from(request["job"].as_u64()?).ok()?;
    (job < simulation.provider().jobs.len()).then_some(job)
}
