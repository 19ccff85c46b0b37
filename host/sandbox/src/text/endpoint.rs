//! The listener of a text provider: the way of a request from its bytes to its planned reply.
//!
//! Checks come in the providers' order: key, size, route, content type, JSON, body, then the markers. A
//! [`TextProtocol`] supplies everything that differs between the two protocols.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, Request};
use hyper::body::Incoming;
use serde_json::Value;

use crate::common::connection::ResetSwitch;
use crate::common::server::{self, HandlerResult, closed};
use crate::text::answer::generate::{Answer, Question, generate};
use crate::text::answer::seed::{IdForm, Seed};
use crate::text::delivery::reply::{Event, EventKind, ReplyPlan};
use crate::text::delivery::send::{send_answer, send_whole};
use crate::text::markers::{Faults, Marker, Protocol};
use crate::text::provider::{RequestGuard, TextProvider};
use crate::text::record::Usage;
use crate::text::refusal::{ErrorTable, PROXY_PAGE, Refusal};
use crate::text::request_log::RequestLog;

/// A wire protocol.
pub(crate) trait TextProtocol: ErrorTable + Sized + 'static {
    /// What a path and its headers decide.
    type Route;
    /// What only this protocol knows of an accepted request.
    type Details: Send + Sync;

    const PROTOCOL: Protocol;
    const MAX_BODY_BYTES: usize;
    const REQUEST_ID: IdForm;
    const ANSWER_ID: IdForm;
    /// The name of an error event.
    const ERROR_EVENT: Option<&'static str>;

    /// The key of the protocol's own header, which comes before a bearer key.
    fn own_key(headers: &HeaderMap) -> Option<&str>;
    /// An event no client knows.
    fn odd_event() -> Event;

    fn route(head: &Parts) -> Result<Self::Route, Refusal>;
    fn check(route: &Self::Route, body: &Value, account: usize) -> Result<Checked<Self>, Refusal>;
    /// The body of a reply that takes no model.
    fn count(_: &Self::Route, _: &Checked<Self>) -> Option<Value> {
        None
    }
    /// The input's part of the bill; writes the cache of prompts.
    fn bill_input(request: &Checked<Self>, log: &mut RequestLog, now: u64) -> Usage;
    /// The answer in one piece and as events.
    fn write(answer: &Written<'_, Self>) -> (Value, Vec<Event>);

    /// Headers of every reply.
    fn headers(request_id: String, now: u64) -> Vec<(&'static str, String)>;
}

/// A request that passed all checks.
pub(crate) struct Checked<P: TextProtocol> {
    pub(crate) model: &'static str,
    pub(crate) question: Question,
    /// Answers wanted.
    pub(crate) choices: usize,
    pub(crate) stream: bool,
    pub(crate) details: P::Details,
}

/// Everything an answer on the wire consists of.
pub(crate) struct Written<'a, P: TextProtocol> {
    pub(crate) id: String,
    /// In seconds since the Unix epoch.
    pub(crate) created: u64,
    pub(crate) request: &'a Checked<P>,
    pub(crate) answers: Vec<Answer>,
    pub(crate) usage: Usage,
    pub(crate) faults: &'a Faults,
    pub(crate) seed: Seed,
}

/// What happens to a request.
enum Outcome {
    Answer(Box<ReplyPlan>),
    Body(Value),
    /// The connection closes without a reply.
    Close,
}

fn plan<P: TextProtocol>(
    provider: &TextProvider,
    guard: &RequestGuard,
    request_id: &str,
    head: &Parts,
    bytes: &[u8],
    account: usize,
) -> Result<Outcome, Refusal> {
    let route = P::route(head)?;
    if !server::mime(&head.headers).eq_ignore_ascii_case("application/json") {
        return Err(P::not_declared_json());
    }
    let body: Value = serde_json::from_slice(bytes).map_err(|error| P::not_json(&error))?;
    let mut request = P::check(&route, &body, account)?;
    if let Some(body) = P::count(&route, &request) {
        return Ok(Outcome::Body(body));
    }
    let input = &mut request.question.input;
    let faults = Faults::of(&input.text, P::PROTOCOL);
    match provider.log().refusal(&input.text, &faults) {
        Some(Marker::NoReply) => return Ok(Outcome::Close),
        Some(marker) => {
            let is_held = faults.has(Marker::SlowStart);
            return Err(Refusal { is_held, ..P::marked(marker, Some(request.model)) });
        }
        None => {}
    }
    input.text.clone_from(&faults.rest);
    input.words = faults.number(Marker::Words);
    let (seed, now) = (Seed::of(bytes), provider.now());
    let mut usage = P::bill_input(&request, &mut provider.log(), now);
    let answer = |at| generate(&request.question, &faults, seed.fork(&format!("answer {at}")));
    let answers: Vec<Answer> = (0..request.choices).map(answer).collect();
    usage.output = answers.iter().map(|answer| answer.output).sum();
    usage.thinking = answers.iter().map(|answer| answer.thinking).sum();
    let (whole, events) = P::write(&Written {
        id: guard.id("answer", P::ANSWER_ID),
        created: now / 1000,
        request: &request,
        answers,
        usage,
        faults: &faults,
        seed: seed.fork("events"),
    });
    let error_body = P::error_body(&P::marked(Marker::ErrorEvent, None), request_id);
    let error = Event { name: P::ERROR_EVENT, data: error_body.to_string(), kind: EventKind::Frame };
    let headers = P::headers(request_id.to_owned(), now);
    let (odd, streams) = (P::odd_event(), request.stream);
    let plan = ReplyPlan { whole, events, error, error_body, odd, streams, headers, usage, faults, seed };
    Ok(Outcome::Answer(Box::new(plan)))
}

/// Answers the requests of one listener.
pub(crate) async fn handle<P: TextProtocol>(
    provider: Arc<TextProvider>,
    request: Request<Incoming>,
) -> HandlerResult {
    let (head, body) = request.into_parts();
    let own_key = P::own_key(&head.headers);
    let key = own_key.or_else(|| bearer(&head.headers));
    let account = provider.account(key);
    let read = server::read(body, P::MAX_BODY_BYTES).await;
    let bytes = read.as_ref().ok().and_then(Option::as_deref);
    let mut guard = provider.begin(&head, bytes, account.ok());
    let request_id = guard.id("request", P::REQUEST_ID);
    let outcome = match (account, read?) {
        (Err(Some(marker)), _) => Err(P::marked(marker, None)),
        (Err(None), _) => Err(P::wrong_key(key, own_key.is_none())),
        (Ok(_), None) => Err(P::marked(Marker::TooLarge, None)),
        (Ok(account), Some(bytes)) => plan::<P>(&provider, &guard, &request_id, &head, &bytes, account),
    };
    match outcome {
        Ok(Outcome::Answer(plan)) => {
            let reset_switch = head.extensions.get::<ResetSwitch>().cloned().unwrap_or_default();
            send_answer(guard, reset_switch, *plan).await
        }
        Ok(Outcome::Body(body)) => {
            let headers = P::headers(request_id, provider.now());
            Ok(send_whole(guard, 200, "application/json", body.to_string(), &headers))
        }
        Ok(Outcome::Close) => {
            guard.finish();
            Err(closed())
        }
        Err(refusal) => {
            if refusal.is_held {
                provider.hold().await;
            }
            let (mime, body) = match refusal.html {
                true => ("text/html", PROXY_PAGE.to_owned()),
                false => ("application/json", P::error_body(&refusal, &request_id).to_string()),
            };
            let mut headers = P::headers(request_id, provider.now());
            headers.extend(P::error_headers(&refusal, provider.settings.retry_after_s));
            Ok(send_whole(guard, refusal.status, mime, body, &headers))
        }
    }
}

/// The key of an `Authorization: Bearer` header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get("authorization")?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}
