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
use crate::line::Trip;
use crate::server::{self, Answer, Cut, Site, Unread};
use crate::text::deliver::{Draft, Event, Part, deliver, refuse};
use crate::text::desk::{Desk, Holder, Trouble, Visit, bearer, is_json};
use crate::text::faults::{Faults, Mark};
use crate::text::seed::Seed;

/// The largest body.
const MAX_BODY_BYTES: usize = 64 << 20;

/// The chat listener.
pub(crate) struct ChatSite(pub(crate) Arc<Desk>);

impl Site for ChatSite {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        let (head, body) = request.into_parts();
        let (holder, refused) = self.key(&head.headers);
        let read = server::read(body, MAX_BODY_BYTES).await;
        let mut visit = self.0.arrive(&head, read.as_deref().ok(), holder);
        let judged = match (refused, read) {
            (_, Err(Unread::Broken)) => return Err(Cut),
            (Some(refusal), _) => Err(refusal),
            (None, Err(Unread::TooLarge)) => Err(Refusal::too_large()),
            (None, Ok(bytes)) => self.judge(&head, &bytes, holder, &visit),
        };
        let trip = head.extensions.get::<Trip>().cloned().unwrap_or_default();
        match judged {
            Ok(Some(draft)) => deliver(visit, trip, *draft).await,
            Ok(None) => {
                visit.over();
                Err(Cut)
            }
            Err(refusal) => {
                if refusal.is_late() {
                    self.0.hold().await;
                }
                let headers = self.headers(&visit);
                Ok(refuse(visit, refusal.refused(self.0.settings.retry_after_s, headers)))
            }
        }
    }
}

impl ChatSite {
    /// Chance that differs from request to request, for ids.
    fn seed(&self, visit: &Visit, label: &str) -> Seed {
        Seed::of(format!("{label} {} {}", self.0.addresses.origin, visit.number).as_bytes())
    }

    /// Whose key it is, and why it does not open.
    fn key(&self, headers: &HeaderMap) -> (Holder, Option<Refusal>) {
        let Some(key) = bearer(headers) else { return (Holder::Unknown, Some(Refusal::no_key())) };
        let holder = self.0.holder(key);
        let refusal = match holder {
            Holder::Account(_) => None,
            Holder::Troubled(Trouble::Broke) => Some(Refusal::quota()),
            Holder::Troubled(Trouble::Forbidden) => Some(Refusal::forbidden()),
            Holder::Troubled(Trouble::Limited) => Some(Refusal::limited("gpt-sim")),
            Holder::Troubled(Trouble::Overloaded) => Some(Refusal::overloaded(529)),
            Holder::Troubled(Trouble::Revoked) | Holder::Unknown => Some(Refusal::key(key)),
        };
        (holder, refusal)
    }

    /// The answer, or `None` to close the connection instead.
    fn judge(
        &self,
        head: &Parts,
        bytes: &[u8],
        holder: Holder,
        visit: &Visit,
    ) -> Result<Option<Box<Draft>>, Refusal> {
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
            Some(Mark::NoReply) => return Ok(None),
            Some(mark) => {
                let late = faults.has(Mark::SlowStart);
                return Err(Refusal::marked(mark, order.model.id).late(late));
            }
            None => {}
        }
        let account = if let Holder::Account(account) = holder { account } else { usize::MAX };
        Ok(Some(Box::new(self.draft(&order, &body, bytes, account, visit, faults))))
    }

    fn draft(
        &self,
        order: &Order<'_>,
        body: &Value,
        bytes: &[u8],
        account: usize,
        visit: &Visit,
        faults: Faults,
    ) -> Draft {
        let seed = Seed::of(bytes);
        let now = self.0.now();
        let input = prompt::settle(order, body, account, &mut self.0.book(), now);
        let reply = answer(order, &faults, &seed, input);
        let id = format!("chatcmpl-{}", self.seed(visit, "completion").id(29));
        let stamp = Stamp { id, created: now / 1000, model: order.model.id };
        let error = Refusal::server().body();
        let odd = json!({ "object": "chat.completion.hint", "choices": [], "hint": { "of": "nothing" } });
        Draft {
            whole: write::whole(&reply, &stamp, &faults),
            events: write::events(&reply, &stamp, order, &faults, &seed),
            error: Event { name: None, data: error.to_string(), part: Part::Frame },
            error_body: error,
            odd: Event { name: None, data: odd.to_string(), part: Part::Frame },
            streams: order.stream,
            headers: self.headers(visit),
            usage: reply.usage,
            faults,
            seed,
        }
    }

    /// What every reply carries; much of it is nobody else's business.
    fn headers(&self, visit: &Visit) -> Vec<(&'static str, String)> {
        let pairs = [
            ("x-request-id", format!("req_{}", self.seed(visit, "request").id(32))),
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
