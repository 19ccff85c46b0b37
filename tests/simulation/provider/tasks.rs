//! The provider's image endpoints: the context image API. Its record decides each answer; while faults are injected,
//! the random faults do too. The record outlives every process of the system.

use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use serde_json::{Value, json};

use crate::clock::VirtualClock;
use crate::provider::HungUp;
use crate::provider::pages::{Page, answered, check_account, page, status, text, too_many};
use crate::provider::quilts;
use crate::record::{Endpoint, KEY_OF};
use crate::simulation::Simulation;

pub(crate) async fn answer(
    simulation: Arc<Simulation>,
    endpoint: Endpoint,
    request: Request<Incoming>,
) -> Result<Page, HungUp> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| HungUp)?.to_bytes();
    if !simulation.switch.allow("the provider receives a request") {
        return Err(HungUp);
    }
    if matches!(endpoint, Endpoint::Submit | Endpoint::Poll) {
        simulation.check_effect();
    }
    let key = head.headers.get("x-key").and_then(|key| key.to_str().ok()).unwrap_or_default();
    let account = key.strip_prefix(KEY_OF).unwrap_or_default();
    let query = head.uri.query().unwrap_or_default();
    let page = match endpoint {
        Endpoint::Submit => match head.uri.path() {
            "/v1/patch" => quilts::patch(&simulation, &body, account).await,
            "/v1/stop" => quilts::stop(&simulation, &body, account),
            "/v1/list" => quilts::list(&simulation, query, account).await,
            _ => submit(&simulation, &body, account).await,
        },
        Endpoint::Poll => poll(&simulation, query, account).await,
        Endpoint::Delivery => deliver(&simulation, head.uri.path()).await,
        Endpoint::Text(_) | Endpoint::Hook => Err(HungUp),
    };
    // The last moment before the answer is sent.
    if simulation.switch.allow("the provider answers") { page } else { Err(HungUp) }
}

async fn submit(simulation: &Simulation, body: &[u8], account: &str) -> Result<Page, HungUp> {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let Some(prompt) = request["prompt"].as_str() else {
        return Ok(page(422, &json!({"detail": [{"loc": ["body", "prompt"], "msg": "Field required"}]})));
    };
    simulation.demand(simulation.memory().arrival(prompt));
    if let Some(source) = request["made_from"].as_u64() {
        simulation.count("a quilt was made from another");
        check_account(simulation, source as usize, account, "is a source");
    }
    let (answer, job) =
        simulation.provider().arrive(prompt, request["token"].as_str(), account, simulation.clock.elapsed());
    simulation.log(format_args!("provider: {prompt:?} arrives, {answer:?}"));
    let taken = || {
        let id = job.map_or_else(String::new, |job| job.to_string());
        let url = format!("http://region.provider.test/v1/get_result?id={id}");
        page(200, &json!({"id": id, "polling_url": url}))
    };
    answered(simulation, answer, taken).await
}

async fn poll(simulation: &Simulation, query: &str, account: &str) -> Result<Page, HungUp> {
    if let Some(after) = simulation.provider().outages.rate_limit(simulation.clock.elapsed()) {
        return Ok(too_many(after));
    }
    let number = query.strip_prefix("id=").and_then(|id| id.parse::<usize>().ok());
    let Some(number) = number.filter(|number| *number < simulation.provider().jobs.len()) else {
        return Ok(page(404, &json!({"id": query, "status": "Task not found"})));
    };
    check_account(simulation, number, account, "was polled");
    if simulation.injects_faults()
        && let Some(fault) = poll_fault(simulation).await
    {
        simulation.count("a poll was answered with a fault");
        return fault;
    }
    let (code, status) = status(simulation, number);
    Ok(page(code, &status))
}

/// How else a poll may be answered.
async fn poll_fault(simulation: &Simulation) -> Option<Result<Page, HungUp>> {
    Some(match simulation.fault_random.below(24) {
        0 => Err(HungUp),
        1 => Ok(page(503, &json!({"detail": "try later"}))),
        2 => Ok(text(200, "{\"status\": \"Rea")),
        3 => Ok(page(404, &json!({"status": "Task not found"}))),
        4 => Ok(too_many(Some(7))),
        5 => Ok(page(200, &json!({"status": "Reasoning", "progress": 0.01}))),
        6 => Ok(page(200, &json!({"status": "Pending", "progress": null}))),
        7 => {
            // Longer than the system waits, or a little less.
            VirtualClock::pause(simulation.fault_random.millis(500..40_000)).await;
            return None;
        }
        _ => return None,
    })
}

async fn deliver(simulation: &Simulation, path: &str) -> Result<Page, HungUp> {
    let job = path.strip_prefix('/').and_then(|path| path.strip_suffix(".png")?.parse::<usize>().ok());
    let Some(job) = job.filter(|job| simulation.provider().fetch(*job)) else {
        return Ok(text(403, "<Error>AuthenticationFailed</Error>"));
    };
    if simulation.injects_faults() {
        match simulation.fault_random.below(16) {
            0 => return Err(HungUp),
            1 => return Ok(text(200, "<html>busy</html>")),
            2 => VirtualClock::pause(simulation.fault_random.millis(1_000..30_000)).await,
            _ => {}
        }
    }
    let mut picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0".to_vec();
    picture.extend(job.to_string().bytes());
    picture.extend(b"IEND\xae\x42\x60\x82");
    Ok(Response::builder()
        .header("content-type", "image/png")
        .body(Full::new(picture.into()))
        .expect("a valid answer"))
}
