//! The receiver of the first customer's webhook: it keeps what came, checks its signature, and answers as the plan has it.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{DeliveryId, UnixMs};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};

use crate::clock::VirtualClock;
use crate::customers::webhook_secret;
use crate::provider::HungUp;
use crate::provider::pages::Page;
use crate::record::hook_record::HookAnswer;
use crate::simulation::Simulation;

pub(crate) async fn answer(simulation: Arc<Simulation>, request: Request<Incoming>) -> Result<Page, HungUp> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| HungUp)?.to_bytes();
    if !simulation.switch.allow("a webhook is received") {
        return Err(HungUp);
    }
    let header =
        |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (id, seconds) =
        (header("webhook-id"), header("webhook-timestamp").parse::<u64>().unwrap_or_default());
    let parsed: Result<DeliveryId, _> = id.parse();
    let signed = parsed.map(|id| webhook_secret().sign(id, UnixMs(seconds * 1_000), &body));
    if signed.as_deref() != Ok(header("webhook-signature")) {
        simulation.fail(format!("webhook {id} is signed {:?}", header("webhook-signature")));
    }
    let kept = simulation.provider().hooks.keep(id, &String::from_utf8_lossy(&body));
    let answer = kept.unwrap_or_else(|what| {
        simulation.fail(what);
        HookAnswer::HangUp
    });
    simulation.log(format_args!("webhook: {id} arrives, {answer:?}"));
    if !simulation.switch.allow("a webhook is answered") {
        return Err(HungUp);
    }
    match answer {
        HookAnswer::Status(status) => {
            simulation.count(if status < 300 { "a webhook was taken" } else { "a webhook was refused" });
            let response = Response::builder().status(status).header("location", "http://elsewhere.test/");
            Ok(response.body(Full::default()).expect("a status"))
        }
        HookAnswer::TakeAndHang => {
            simulation.count("a webhook was taken without an answer");
            VirtualClock::pause(Duration::from_secs(3_600)).await;
            Err(HungUp)
        }
        HookAnswer::HangUp => Err(HungUp),
    }
}
