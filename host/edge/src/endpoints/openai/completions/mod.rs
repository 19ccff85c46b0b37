//! `completions.create`: text in, text out, over models that answer conversations. A prompt is the message of a user; each
//! prompt of a list is a text request of its own, priced and paid like any other.

mod request;
mod stream;
mod whole;

use std::sync::Arc;
use std::time::Duration;

use gatehouse_driver::{CompletionRequest, CompletionResponse, TextStream};
use gatehouse_model::{Key, RequestId};
use http::Response;
use tokio::sync::mpsc;

use crate::endpoints::openai::fields::off_worker;
use crate::endpoints::text::text_refusal;
use crate::endpoints::{dry_run, jobs};
use crate::errors::{Form, Refusal};
use crate::http::body;
use crate::http::context::{EdgeContext, EndpointRequest};
use crate::http::response::{self, ResponseBody};
use crate::sse::EventBody;
use request::Asked;

/// The surface that answers.
const SURFACE: &str = "chat.completions";
/// Batches of events on their way to the client.
const BATCHES: usize = 4;

/// Answers a request of one or several prompts.
pub(in crate::endpoints) async fn complete(
    context: &EdgeContext,
    request: EndpointRequest<'_>,
    key: Arc<Key>,
) -> Result<Response<ResponseBody>, Refusal> {
    body::check_type(&request.parts.headers)?;
    let body = jobs::checked_body(context, request.body, &key, None).await?;
    let (length, is_dry_run) = (body.bytes().len(), body.is_dry_run());
    let (asked, bodies) = off_worker(length, move || Asked::read(&body)?.with_bodies()).await??;
    let mut requests = Vec::with_capacity(bodies.len());
    for (number, body) in bodies.into_iter().enumerate() {
        let id = match number {
            0 => request.id,
            // Its money is held under it.
            _ => RequestId::new(context.clock.now(), &*context.seed),
        };
        let (key, report) = (Arc::clone(&key), request.report.clone());
        requests.push(CompletionRequest { id, key, surface: SURFACE, body, headers: Vec::new(), report });
    }
    if asked.is_stream && !is_dry_run {
        return streamed(context, request.id, asked, requests).await;
    }
    let mut bodies = Vec::with_capacity(requests.len());
    // One after the other: a key that allows one request at once has all of them answered.
    for request in requests {
        match context.backend.complete(request).await {
            Ok(CompletionResponse::Whole(body)) => bodies.push(body),
            Ok(CompletionResponse::DryRun(found)) => return Ok(dry_run::answer(found, false)),
            Ok(CompletionResponse::Stream(_)) => return Err(unexpected()),
            // The prompts before it are paid, and a repetition would pay for them again.
            Err(error) if !bodies.is_empty() => return Err(text_refusal(error).never_repeated()),
            Err(error) => return Err(text_refusal(error)),
        }
    }
    Ok(response::json(&whole::completion(&asked, &bodies)?))
}

/// The events of each prompt, one after the other.
async fn streamed(
    context: &EdgeContext,
    id: RequestId,
    asked: Asked,
    requests: Vec<CompletionRequest>,
) -> Result<Response<ResponseBody>, Refusal> {
    let mut requests = requests.into_iter();
    let first = requests.next().ok_or_else(unexpected)?;
    let CompletionResponse::Stream(mut first) =
        context.backend.complete(first).await.map_err(text_refusal)?
    else {
        return Err(unexpected());
    };
    // What fails before the first events has a status of its own.
    first.begin().await.map_err(text_refusal)?;
    let (sender, batches) = mpsc::channel(BATCHES);
    tokio::spawn(stream::pump(Arc::clone(&context.backend), asked, first, requests, sender));
    let interval = Duration::from_secs(context.config.limits.keep_alive_seconds.get().into());
    let events = TextStream::from(batches);
    let clock = Arc::clone(&context.clock);
    Ok(EventBody::new(events, Form::OpenAi, id, clock, interval, text_refusal).into_response())
}

fn unexpected() -> Refusal {
    Refusal::internal("a text family answered in another way than it was asked to")
}
