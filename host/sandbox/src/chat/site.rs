//! The listener: routes, keys, and the way of a request from its bytes to its answer.
//!
//! The order of judgement is the provider's: key, size, JSON, body, then the markers.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, Method, Request};
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::answer::{answer, last_text};
use super::order::{self, Order};
use super::prompt;
use super::refusal::Refusal;
use super::write::{self, Stamp};
use crate::common::connection::ResetSwitch;
use crate::common::server::{self, CloseConnection, Handler, HandlerResult, ReadError};
use crate::text::answer::seed::Seed;
use crate::text::delivery::reply::{Event, EventKind, ReplyPlan};
use crate::text::delivery::send::{deliver, refuse};
use crate::text::faults::Faults;
use crate::text::markers::Marker;
use crate::text::provider::{KeyFailure, KeyOwner, RequestGuard, TextProvider, bearer, is_json};

/// The largest body.
const MAX_BODY_BYTES: usize = 64 << 20;

/// The chat listener.
pub(crate) struct ChatEndpoint(pub(crate) Arc<TextProvider>);

impl Handler for ChatEndpoint {
    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> HandlerResult {
        let (head, body) = request.into_parts();
        let (owner, refused) = self.key(&head.headers);
        let read = server::read(body, MAX_BODY_BYTES).await;
        let mut guard = self.0.arrive(&head, read.as_deref().ok(), owner);
        let judged = match (refused, read) {
            (_, Err(ReadError::Broken)) => return Err(CloseConnection),
            (Some(refusal), _) => Err(refusal),
            (None, Err(ReadError::TooLarge)) => Err(Refusal::too_large()),
            (None, Ok(bytes)) => self.judge(&head, &bytes, owner, &guard),
        };
        let reset_switch = head.extensions.get::<ResetSwitch>().cloned().unwrap_or_default();
        match judged {
            Ok(Some(plan)) => deliver(guard, reset_switch, *plan).await,
            Ok(None) => {
                guard.over();
                Err(CloseConnection)
            }
            Err(refusal) => {
                if refusal.is_late() {
                    self.0.hold().await;
                }
                let headers = self.headers(&guard);
                Ok(refuse(guard, refusal.refused(self.0.settings.retry_after_s, headers)))
            }
        }
    }
}

impl ChatEndpoint {
    /// Chance that differs from request to request, for ids.
    fn seed(&self, guard: &RequestGuard, label: &str) -> Seed {
        Seed::of(format!("{label} {} {}", self.0.addresses.origin, guard.number).as_bytes())
    }

    /// Whose key it is, and why it does not open.
    fn key(&self, headers: &HeaderMap) -> (KeyOwner, Option<Refusal>) {
        let Some(key) = bearer(headers) else { return (KeyOwner::Unknown, Some(Refusal::no_key())) };
        let owner = self.0.owner(key);
        let refusal = match owner {
            KeyOwner::Account(_) => None,
            KeyOwner::Failing(KeyFailure::Broke) => Some(Refusal::quota()),
            KeyOwner::Failing(KeyFailure::Forbidden) => Some(Refusal::forbidden()),
            KeyOwner::Failing(KeyFailure::Limited) => Some(Refusal::limited("gpt-sim")),
            KeyOwner::Failing(KeyFailure::Overloaded) => Some(Refusal::overloaded(529)),
            KeyOwner::Failing(KeyFailure::Revoked) | KeyOwner::Unknown => Some(Refusal::key(key)),
        };
        (owner, refusal)
    }

    /// The answer, or `None` to close the connection instead.
    fn judge(
        &self,
        head: &Parts,
        bytes: &[u8],
        owner: KeyOwner,
        guard: &RequestGuard,
    ) -> Result<Option<Box<ReplyPlan>>, Refusal> {
        if head.uri.path() != "/v1/chat/completions" {
            return Err(Refusal::path(head.method.as_str(), head.uri.path()));
        }
        if head.method != Method::POST {
            return Err(Refusal::method(head.method.as_str()));
        }
        if !is_json(&head.headers) {
            let words = "You must provide a JSON body with the header 'Content-Type: application/json'.";
            return Err(Refusal::bad(words));
        }
        let body: Value = serde_json::from_slice(bytes).map_err(|error| {
            Refusal::bad(format!(
                "We could not parse the JSON body of your request. The API expects a JSON payload, but what was sent \
                 was not valid JSON: {error}"
            ))
        })?;
        let order = order::judge(&body)?;
        let text = last_text(&order);
        let faults = Faults::of(&text);
        match self.0.refusal(&text, &faults) {
            Some(Marker::NoReply) => return Ok(None),
            Some(mark) => {
                let late = faults.has(Marker::SlowStart);
                return Err(Refusal::marked(mark, order.model.id).late(late));
            }
            None => {}
        }
        let account = if let KeyOwner::Account(account) = owner { account } else { usize::MAX };
        Ok(Some(Box::new(self.plan(&order, &body, bytes, account, guard, faults))))
    }

    fn plan(
        &self,
        order: &Order<'_>,
        body: &Value,
        bytes: &[u8],
        account: usize,
        guard: &RequestGuard,
        faults: Faults,
    ) -> ReplyPlan {
        let seed = Seed::of(bytes);
        let now = self.0.now();
        let input = prompt::settle(order, body, account, &mut self.0.log(), now);
        let reply = answer(order, &faults, &seed, input);
        let id = format!("chatcmpl-{}", self.seed(guard, "completion").id(29));
        let stamp = Stamp { id, created: now / 1000, model: order.model.id };
        let error = Refusal::server().body();
        let odd = json!({ "object": "chat.completion.hint", "choices": [], "hint": { "of": "nothing" } });
        ReplyPlan {
            whole: write::whole(&reply, &stamp, &faults),
            events: write::events(&reply, &stamp, order, &faults, &seed),
            error: Event { name: None, data: error.to_string(), part: EventKind::Frame },
            error_body: error,
            odd: Event { name: None, data: odd.to_string(), part: EventKind::Frame },
            streams: order.stream,
            headers: self.headers(guard),
            usage: reply.usage,
            faults,
            seed,
        }
    }

    /// What every reply carries; much of it is nobody else's business.
    fn headers(&self, guard: &RequestGuard) -> Vec<(&'static str, String)> {
        let pairs = [
            ("x-request-id", format!("req_{}", self.seed(guard, "request").id(32))),
            ("openai-organization", "org-sandbox".to_owned()),
            ("openai-project", "proj_sandbox".to_owned()),
            ("openai-processing-ms", "137".to_owned()),
            ("openai-version", "2020-10-01".to_owned()),
            ("x-ratelimit-limit-requests", "10000".to_owned()),
            ("x-ratelimit-remaining-requests", "9999".to_owned()),
            ("x-ratelimit-reset-requests", "6ms".to_owned()),
            ("x-ratelimit-limit-tokens", "2000000".to_owned()),
            ("x-ratelimit-remaining-tokens", "1999990".to_owned()),
            ("x-ratelimit-reset-tokens", "6m0s".to_owned()),
            ("cf-ray", "8f0000000000sand-LIS".to_owned()),
            ("set-cookie", "__cf_bm=sandbox-chat; path=/; HttpOnly".to_owned()),
            ("set-cookie", "_cfuvid=sandbox-chat; path=/; HttpOnly".to_owned()),
        ];
        pairs.to_vec()
    }
}
