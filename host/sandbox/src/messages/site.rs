//! The listener: routes, keys, versions, and the way of a request from its bytes to its answer.
//!
//! The order of judgement is the provider's: key, version, size, JSON, body, then the markers.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, Method, Request, StatusCode};
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::answer::{answer, last_text};
use super::order::{self, Order, Terms};
use super::refusal::Refusal;
use super::write;
use crate::common::clock::iso;
use crate::common::connection::ResetSwitch;
use crate::common::server::{self, CloseConnection, Handler, HandlerResult, ReadError};
use crate::text::answer::seed::Seed;
use crate::text::delivery::reply::{ErrorReply, Event, EventKind, ReplyPlan};
use crate::text::delivery::send::{deliver, refuse};
use crate::text::faults::Faults;
use crate::text::markers::Marker;
use crate::text::provider::{KeyFailure, KeyOwner, RequestGuard, TextProvider, bearer, is_json};

/// The largest body.
const MAX_BODY_BYTES: usize = 32 << 20;
/// The versions there are, older first.
const VERSIONS: [&str; 2] = ["2023-06-01", "2026-10-21"];

/// The Messages listener.
pub(crate) struct MessagesEndpoint(pub(crate) Arc<TextProvider>);

/// What a good request comes to.
enum Outcome {
    Answer(Box<ReplyPlan>),
    /// Tokens of a prompt.
    Count(u64),
    /// The connection is closed instead.
    Nothing,
}

impl Handler for MessagesEndpoint {
    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> HandlerResult {
        let (head, body) = request.into_parts();
        let (owner, refused) = self.key(&head.headers);
        let read = server::read(body, MAX_BODY_BYTES).await;
        let guard = self.0.arrive(&head, read.as_deref().ok(), owner);
        let id = format!("req_011{}", self.seed(&guard, "request").id(21));
        let judged = match (refused, read) {
            (_, Err(ReadError::Broken)) => return Err(CloseConnection),
            (Some(refusal), _) => Err(refusal),
            (None, Err(ReadError::TooLarge)) => Err(Refusal::too_large()),
            (None, Ok(bytes)) => self.judge(&head, &bytes, owner, &guard, &id),
        };
        let reset_switch = head.extensions.get::<ResetSwitch>().cloned().unwrap_or_default();
        match judged {
            Ok(Outcome::Answer(plan)) => deliver(guard, reset_switch, *plan).await,
            Ok(Outcome::Count(tokens)) => {
                let body = json!({ "input_tokens": tokens }).to_string();
                let (status, mime) = (StatusCode::OK, "application/json");
                Ok(refuse(guard, ErrorReply { status, mime, body, headers: self.headers(&id) }))
            }
            Ok(Outcome::Nothing) => {
                let mut guard = guard;
                guard.over();
                Err(CloseConnection)
            }
            Err(refusal) => {
                if refusal.is_late() {
                    self.0.hold().await;
                }
                let refused = refusal.refused(&id, self.0.settings.retry_after_s, self.headers(&id));
                Ok(refuse(guard, refused))
            }
        }
    }
}

impl MessagesEndpoint {
    /// Chance that differs from request to request, for ids.
    fn seed(&self, guard: &RequestGuard, label: &str) -> Seed {
        Seed::of(format!("{label} {} {}", self.0.addresses.origin, guard.number).as_bytes())
    }

    /// Whose key it is, and why it does not open. With both headers `x-api-key` counts.
    fn key(&self, headers: &HeaderMap) -> (KeyOwner, Option<Refusal>) {
        let named = headers.get("x-api-key").map(|value| value.to_str().unwrap_or_default());
        let Some(key) = named.or_else(|| bearer(headers)) else {
            return (KeyOwner::Unknown, Some(Refusal::key("x-api-key header is required")));
        };
        let owner = self.0.owner(key);
        let refusal = match owner {
            KeyOwner::Account(_) => None,
            KeyOwner::Failing(KeyFailure::Broke) => Some(Refusal::credit()),
            KeyOwner::Failing(KeyFailure::Forbidden) => Some(Refusal::forbidden()),
            KeyOwner::Failing(KeyFailure::Limited) => Some(Refusal::limited()),
            KeyOwner::Failing(KeyFailure::Overloaded) => Some(Refusal::overloaded()),
            KeyOwner::Failing(KeyFailure::Revoked) | KeyOwner::Unknown if named.is_some() => {
                Some(Refusal::key("invalid x-api-key"))
            }
            KeyOwner::Failing(KeyFailure::Revoked) | KeyOwner::Unknown => {
                Some(Refusal::key("Invalid bearer token"))
            }
        };
        (owner, refusal)
    }

    fn judge(
        &self,
        head: &Parts,
        bytes: &[u8],
        owner: KeyOwner,
        guard: &RequestGuard,
        request_id: &str,
    ) -> Result<Outcome, Refusal> {
        let counting = match head.uri.path() {
            "/v1/messages" => false,
            "/v1/messages/count_tokens" => true,
            _ => return Err(Refusal::not_found("Not found")),
        };
        if head.method != Method::POST {
            return Err(Refusal::method());
        }
        let newer = version(&head.headers)?;
        if !is_json(&head.headers) {
            return Err(Refusal::invalid("content-type: Input should be 'application/json'"));
        }
        let body: Value = serde_json::from_slice(bytes)
            .map_err(|error| Refusal::invalid(format!("The request body is not valid JSON: {error}")))?;
        let betas = betas(&head.headers);
        let account = if let KeyOwner::Account(account) = owner { account } else { usize::MAX };
        let order = order::judge(&body, Terms { account, newer, betas: &betas, counting })?;
        if counting {
            return Ok(Outcome::Count(order.prompt.tokens));
        }
        self.plan(&order, bytes, guard, request_id)
    }

    fn plan(
        &self,
        order: &Order<'_>,
        bytes: &[u8],
        guard: &RequestGuard,
        request_id: &str,
    ) -> Result<Outcome, Refusal> {
        let text = last_text(order);
        let faults = Faults::of(&text);
        match self.0.refusal(&text, &faults) {
            Some(Marker::NoReply) => return Ok(Outcome::Nothing),
            Some(mark) => {
                let late = faults.has(Marker::SlowStart);
                return Err(Refusal::marked(mark, order.model.id).late(late));
            }
            None => {}
        }
        let seed = Seed::of(bytes);
        let input = order.prompt.settle(&mut self.0.log(), self.0.now());
        let reply = answer(order, &faults, &seed, input);
        let id = format!("msg_01{}", self.seed(guard, "message").id(22));
        let error = Refusal::overloaded().body(request_id);
        Ok(Outcome::Answer(Box::new(ReplyPlan {
            whole: write::whole(&reply, &id, order.model.id, &faults),
            events: write::events(&reply, &id, order.model.id, &faults, &seed),
            error: Event { name: Some("error"), data: error.to_string(), part: EventKind::Frame },
            error_body: error,
            odd: write::event(
                "content_block_hint",
                EventKind::Frame,
                json!({ "hint": { "of": ["nothing"] } }),
            ),
            streams: order.stream,
            headers: self.headers(request_id),
            usage: reply.usage,
            faults,
            seed,
        })))
    }

    /// What every reply carries; much of it is nobody else's business.
    fn headers(&self, request_id: &str) -> Vec<(&'static str, String)> {
        let reset = iso(self.0.now() / 60_000 * 60_000 + 60_000);
        let mut headers = vec![
            ("request-id", request_id.to_owned()),
            ("anthropic-organization-id", "5f0c2f3e-0000-4000-8000-5a4db0c50001".to_owned()),
            ("anthropic-workspace-id", "wrkspc_01sandbox".to_owned()),
            ("cf-ray", "8f0000000000sand-LIS".to_owned()),
            ("set-cookie", "_cfuvid=sandbox-messages; path=/; HttpOnly".to_owned()),
            ("via", "1.1 google".to_owned()),
        ];
        let limits: [(&'static str, &'static str, &'static str, u32); 4] = [
            (
                "anthropic-ratelimit-requests-limit",
                "anthropic-ratelimit-requests-remaining",
                "anthropic-ratelimit-requests-reset",
                4000,
            ),
            (
                "anthropic-ratelimit-tokens-limit",
                "anthropic-ratelimit-tokens-remaining",
                "anthropic-ratelimit-tokens-reset",
                4_800_000,
            ),
            (
                "anthropic-ratelimit-input-tokens-limit",
                "anthropic-ratelimit-input-tokens-remaining",
                "anthropic-ratelimit-input-tokens-reset",
                4_000_000,
            ),
            (
                "anthropic-ratelimit-output-tokens-limit",
                "anthropic-ratelimit-output-tokens-remaining",
                "anthropic-ratelimit-output-tokens-reset",
                800_000,
            ),
        ];
        for (limit, remaining, reset_at, most) in limits {
            headers.push((limit, most.to_string()));
            headers.push((remaining, (most - 1).to_string()));
            headers.push((reset_at, reset.clone()));
        }
        headers
    }
}

/// Whether the request is of the newer version.
fn version(headers: &HeaderMap) -> Result<bool, Refusal> {
    let Some(version) = headers.get("anthropic-version") else {
        return Err(Refusal::invalid("anthropic-version: header is required"));
    };
    let version = version.to_str().unwrap_or_default();
    match VERSIONS.iter().position(|known| *known == version) {
        Some(place) => Ok(place == 1),
        None => Err(Refusal::invalid(format!("anthropic-version: \"{version}\" is not a valid version"))),
    }
}

/// Feature names of every `anthropic-beta` header.
fn betas(headers: &HeaderMap) -> Vec<&str> {
    let values = headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',').map(str::trim)).collect()
}
