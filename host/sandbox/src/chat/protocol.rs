//! The chat completions as a [`TextProtocol`]: route, keys, limits, headers, the cache of prompts.

use http::request::Parts;
use http::{HeaderMap, Method};
use serde_json::{Value, json};

use super::embeddings;
use super::errors::{self, Chat};
use super::models::Details;
use super::request;
use super::write;
use crate::text::answer::seed::IdForm;
use crate::text::delivery::reply::{Event, EventKind};
use crate::text::endpoint::{Checked, TextProtocol, Written};
use crate::text::markers::Protocol;
use crate::text::record::Usage;
use crate::text::refusal::Refusal;
use crate::text::request_log::RequestLog;

/// Shorter prompts are not cached; longer ones in steps.
const MIN_CACHED_TOKENS: u64 = 1024;
const CACHE_STEP_TOKENS: u64 = 128;
const CACHE_MS: u64 = 300_000;

/// What a path asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Completions,
    Embeddings,
}

impl TextProtocol for Chat {
    type Route = Endpoint;
    type Details = Details;

    const PROTOCOL: Protocol = Protocol::Chat;
    const MAX_BODY_BYTES: usize = 64 << 20;
    const REQUEST_ID: IdForm = IdForm { prefix: "req_", chars: 32 };
    const ANSWER_ID: IdForm = IdForm { prefix: "chatcmpl-", chars: 29 };
    const ERROR_EVENT: Option<&'static str> = None;

    fn own_key(_: &HeaderMap) -> Option<&str> {
        None
    }

    fn odd_event() -> Event {
        let hint = json!({ "object": "chat.completion.hint", "choices": [], "hint": { "of": "nothing" } });
        Event { name: None, data: hint.to_string(), kind: EventKind::Frame }
    }

    fn route(head: &Parts) -> Result<Endpoint, Refusal> {
        let (method, path) = (head.method.as_str(), head.uri.path());
        let endpoint = match path {
            "/v1/chat/completions" => Endpoint::Completions,
            "/v1/embeddings" => Endpoint::Embeddings,
            _ => return Err(errors::unknown_path(method, path)),
        };
        if head.method == Method::POST { Ok(endpoint) } else { Err(errors::method(method, path)) }
    }

    fn check(endpoint: &Endpoint, body: &Value, account: usize) -> Result<Checked<Self>, Refusal> {
        match endpoint {
            Endpoint::Completions => request::check(body, account),
            Endpoint::Embeddings => embeddings::check(body),
        }
    }

    /// The longest cached beginning of the prompt is read from the cache; all beginnings are cached anew.
    fn bill_input(request: &Checked<Self>, log: &mut RequestLog, now: u64) -> Usage {
        let details = &request.details;
        let mut cached = 0;
        for (prefix, tokens) in &details.prefixes {
            if log.is_cached(prefix, now) {
                cached = *tokens;
            }
            log.cache(*prefix, now.saturating_add(CACHE_MS));
        }
        let is_read = cached >= MIN_CACHED_TOKENS && !details.model.clone;
        let cache_read = if is_read { cached / CACHE_STEP_TOKENS * CACHE_STEP_TOKENS } else { 0 };
        Usage { input: details.prompt_tokens - cache_read, cache_read, ..Usage::default() }
    }

    fn write(answer: &Written<'_, Self>) -> (Value, Vec<Event>) {
        match &answer.request.details.embeddings {
            Some(asked) => (embeddings::write(answer, asked), vec![]),
            None => (write::whole(answer), write::events(answer)),
        }
    }

    /// A client needs few of these headers; the gateway must pass on none of the rest.
    fn headers(request_id: String, _: u64) -> Vec<(&'static str, String)> {
        #[rustfmt::skip]
        let fixed = [
            ("openai-organization", "org-sandbox"), ("openai-project", "proj_sandbox"),
            ("openai-processing-ms", "137"), ("openai-version", "2020-10-01"),
            ("x-ratelimit-limit-requests", "10000"), ("x-ratelimit-remaining-requests", "9999"),
            ("x-ratelimit-reset-requests", "6ms"), ("x-ratelimit-limit-tokens", "2000000"),
            ("x-ratelimit-remaining-tokens", "1999990"), ("x-ratelimit-reset-tokens", "6m0s"),
            ("cf-ray", "8f0000000000sand-LIS"), ("set-cookie", "__cf_bm=sandbox-chat; path=/; HttpOnly"),
            ("set-cookie", "_cfuvid=sandbox-chat; path=/; HttpOnly"),
        ];
        let fixed = fixed.map(|(name, value)| (name, value.to_owned()));
        [("x-request-id", request_id)].into_iter().chain(fixed).collect()
    }
}
