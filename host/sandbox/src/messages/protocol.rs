//! The Messages API as a [`TextProtocol`]: routes, versions, keys, limits, headers.

use http::request::Parts;
use http::{HeaderMap, Method};
use serde_json::{Value, json};

use super::errors::{self, Messages, invalid};
use super::request::{self, Details, Route};
use super::write;
use crate::common::clock::iso;
use crate::text::answer::seed::IdForm;
use crate::text::delivery::reply::{Event, EventKind};
use crate::text::endpoint::{Checked, TextProtocol, Written};
use crate::text::markers::Protocol;
use crate::text::record::Usage;
use crate::text::refusal::Refusal;
use crate::text::request_log::RequestLog;

/// The known versions, older first.
const VERSIONS: [&str; 2] = ["2023-06-01", "2026-10-21"];

/// Names of a rate limit's headers (limit, remaining, reset), and the limit.
macro_rules! rate_limits {
    ($($name:literal $limit:literal),*) => {
        [$(([
            concat!("anthropic-ratelimit-", $name, "-limit"),
            concat!("anthropic-ratelimit-", $name, "-remaining"),
            concat!("anthropic-ratelimit-", $name, "-reset"),
        ], $limit)),*]
    };
}
const RATE_LIMITS: [([&str; 3], u32); 4] =
    rate_limits!("requests" 4000, "tokens" 4_800_000, "input-tokens" 4_000_000, "output-tokens" 800_000);

impl TextProtocol for Messages {
    type Route = Route;
    type Details = Details;

    const PROTOCOL: Protocol = Protocol::Messages;
    const MAX_BODY_BYTES: usize = 32 << 20;
    const REQUEST_ID: IdForm = IdForm { prefix: "req_011", chars: 21 };
    const ANSWER_ID: IdForm = IdForm { prefix: "msg_01", chars: 22 };
    const ERROR_EVENT: Option<&'static str> = Some("error");

    fn own_key(headers: &HeaderMap) -> Option<&str> {
        headers.get("x-api-key").map(|value| value.to_str().unwrap_or_default())
    }

    fn odd_event() -> Event {
        let hint = json!({ "hint": { "of": ["nothing"] } });
        write::event("content_block_hint", EventKind::Frame, hint)
    }

    fn route(head: &Parts) -> Result<Route, Refusal> {
        let counting = match head.uri.path() {
            "/v1/messages" => false,
            "/v1/messages/count_tokens" => true,
            _ => return Err(errors::not_found("Not found")),
        };
        if head.method != Method::POST {
            return Err(Refusal::new(405, "invalid_request_error", "Method Not Allowed"));
        }
        let version = head.headers.get("anthropic-version");
        let version = version.ok_or_else(|| invalid("anthropic-version: header is required"))?;
        let version = version.to_str().unwrap_or_default();
        let known = VERSIONS.iter().position(|known| *known == version);
        let at = known
            .ok_or_else(|| invalid(format!("anthropic-version: \"{version}\" is not a valid version")))?;
        let betas = head.headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
        let betas = betas.flat_map(|value| value.split(',').map(|name| name.trim().to_owned())).collect();
        Ok(Route { counting, newer: at == 1, betas })
    }

    fn check(route: &Route, body: &Value, account: usize) -> Result<Checked<Self>, Refusal> {
        request::check(body, route, account)
    }

    fn count(route: &Route, request: &Checked<Self>) -> Option<Value> {
        route.counting.then(|| json!({ "input_tokens": request.details.prompt.tokens }))
    }

    fn bill_input(request: &Checked<Self>, log: &mut RequestLog, now: u64) -> Usage {
        request.details.prompt.bill(log, now)
    }

    fn write(answer: &Written<'_, Self>) -> (Value, Vec<Event>) {
        (write::whole(answer), write::events(answer))
    }

    /// A client needs few of these headers; the gateway must pass on none of the rest.
    fn headers(request_id: String, now: u64) -> Vec<(&'static str, String)> {
        let reset = iso(now / 60_000 * 60_000 + 60_000);
        let mut headers = vec![
            ("request-id", request_id),
            ("anthropic-organization-id", "5f0c2f3e-0000-4000-8000-5a4db0c50001".to_owned()),
            ("anthropic-workspace-id", "wrkspc_01sandbox".to_owned()),
            ("cf-ray", "8f0000000000sand-LIS".to_owned()),
            ("set-cookie", "_cfuvid=sandbox-messages; path=/; HttpOnly".to_owned()),
            ("via", "1.1 google".to_owned()),
        ];
        for (names, limit) in RATE_LIMITS {
            let values = [limit.to_string(), (limit - 1).to_string(), reset.clone()];
            headers.extend(names.into_iter().zip(values));
        }
        headers
    }
}
