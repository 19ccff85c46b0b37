//! `completions.create`: text in, text out, over models that answer conversations. A prompt is the message of a user; each
//! prompt of a list is a text request of its own, priced and paid like any other.

mod request;
mod stream;
mod whole;

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream as streams};
use gatehouse_driver::{CompletionRequest, CompletionResponse, TextStream};
use gatehouse_model::{Key, RequestId};
use http::Response;
use tokio::sync::mpsc;

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
/// Prompts of one request that are answered at once.
const AT_ONCE: usize = 4;
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
    let asked = Asked::read(&body)?;
    let mut requests = Vec::with_capacity(asked.prompts.len());
    for (number, prompt) in asked.prompts.iter().enumerate() {
        let id = match number {
            0 => request.id,
            // Its money is held under it.
            _ => RequestId::new(context.clock.now(), &*context.seed),
        };
        let (key, body, report) = (Arc::clone(&key), asked.body(prompt)?, request.report.clone());
        requests.push(CompletionRequest { id, key, surface: SURFACE, body, headers: Vec::new(), report });
    }
    if asked.is_stream && !body.is_dry_run() {
        return streamed(context, request.id, asked, requests).await;
    }
    let backend = &context.backend;
    let answers: Vec<CompletionResponse> =
        streams::iter(requests.into_iter().map(|request| backend.complete(request)))
            .buffered(AT_ONCE)
            .try_collect()
            .await
            .map_err(text_refusal)?;
    let mut bodies = Vec::with_capacity(answers.len());
    for answer in answers {
        match answer {
            CompletionResponse::Whole(body) => bodies.push(body),
            CompletionResponse::DryRun(found) => return Ok(dry_run::answer(found, false)),
            CompletionResponse::Stream(_) => return Err(unexpected()),
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
