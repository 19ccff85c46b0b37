//! The provider's text endpoints, whole and streamed, in both protocols. Its record decides each answer. Every whole
//! answer counts the same tokens, so that its price is known.

use std::sync::Arc;
use std::time::Duration;

use crate::record::text_outcomes::Protocol;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::{Request, Response};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::clock::VirtualClock;
use crate::provider::HungUp;
use crate::provider::transcripts;
use crate::record::text_outcomes::TextOutcome;
use crate::simulation::Simulation;

pub(crate) type Answer = Response<UnsyncBoxBody<Bytes, HungUp>>;

pub(crate) async fn answer(
    simulation: Arc<Simulation>,
    protocol: Protocol,
    request: Request<Incoming>,
) -> Result<Answer, HungUp> {
    let body = request.into_body().collect().await.map_err(|_| HungUp)?.to_bytes();
    if !simulation.switch.allow("the provider receives a request") {
        return Err(HungUp);
    }
    simulation.check_effect();
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let prompt = prompt(&String::from_utf8_lossy(&body));
    let outcome = simulation.provider().answer_text(&prompt, simulation.clock.elapsed());
    simulation.log(format_args!("provider: {prompt:?} arrives, {outcome:?}"));
    let answer = match outcome {
        TextOutcome::Lost => Err(HungUp),
        TextOutcome::Garbage => Ok(page(200, "<html>bad gateway</html>")),
        TextOutcome::Error(status) => {
            Ok(page(status, &json!({"error": {"message": "not well", "type": "x"}}).to_string()))
        }
        TextOutcome::TooMany(after) => {
            let mut page =
                page(429, &json!({"error": {"message": "too many", "type": "rate_limit_error"}}).to_string());
            if let Some(after) = after {
                page.headers_mut().insert("retry-after", after.into());
            }
            Ok(page)
        }
        _ if request["stream"] == true => Ok(streamed(&simulation, protocol, outcome)),
        outcome => whole(protocol, outcome).await,
    };
    // The last moment before the answer is sent.
    if simulation.switch.allow("the provider answers") { answer } else { Err(HungUp) }
}

/// The prompt that identifies a request: "prompt", a number and a semicolon somewhere in the body.
fn prompt(body: &str) -> String {
    let found = body.find("prompt ").and_then(|from| body[from..].split(';').next());
    found.unwrap_or_default().to_owned()
}

fn page(status: u16, body: &str) -> Answer {
    let body = Full::new(Bytes::copy_from_slice(body.as_bytes())).map_err(|never| match never {});
    Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(body.boxed_unsync())
        .expect("valid")
}

async fn whole(protocol: Protocol, outcome: TextOutcome) -> Result<Answer, HungUp> {
    let text = match protocol {
        Protocol::Messages => json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": "so it is"}], "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": 32, "output_tokens": 37}}),
        Protocol::Chat => json!({"id": "c1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "so it is"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 32, "completion_tokens": 37, "total_tokens": 69}}),
    }
    .to_string();
    match outcome {
        TextOutcome::Slowly(ms) => VirtualClock::pause(Duration::from_millis(ms)).await,
        TextOutcome::Cut(_) => return Err(HungUp),
        TextOutcome::Close(_) => return Ok(page(200, &text[..text.len() / 2])),
        TextOutcome::Stall(_) => VirtualClock::pause(Duration::from_secs(3_600)).await,
        _ => {}
    }
    Ok(page(200, &text))
}

fn streamed(simulation: &Arc<Simulation>, protocol: Protocol, outcome: TextOutcome) -> Answer {
    let events = transcripts::events(protocol);
    let pace = match outcome {
        TextOutcome::Slowly(ms) => ms / events.len() as u64,
        _ => 1,
    };
    let (sender, mut receiver) = mpsc::channel::<Result<Frame<Bytes>, HungUp>>(1);
    let simulation = Arc::clone(simulation);
    tokio::spawn(async move {
        for event in events.into_iter().take(outcome.events()) {
            VirtualClock::pause(Duration::from_millis(pace)).await;
            if !simulation.switch.allow("the provider sends an event")
                || sender.send(Ok(Frame::data(event))).await.is_err()
            {
                return;
            }
        }
        match outcome {
            TextOutcome::Cut(_) => drop(sender.send(Err(HungUp)).await),
            TextOutcome::Stall(_) => sender.closed().await,
            _ => {}
        }
    });
    let body = StreamBody::new(stream::poll_fn(move |cx| receiver.poll_recv(cx)));
    Response::builder().header("content-type", "text/event-stream").body(body.boxed_unsync()).expect("valid")
}
