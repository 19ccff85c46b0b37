//! A submission: token, JSON, fields and media, then markers and the account.

use http::{HeaderMap, Response};
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::common::server::{self, Body, HandlerResult, closed};
use crate::veo::check;
use crate::veo::faults::{Marker, error};
use crate::veo::provider::{Provider, account};
use crate::veo::record::{BegunVideo, DeclinedVideo};
use crate::veo::refusal::{Refusal, html};

/// Two images of 20 MB, or a video, in base64.
const MAX_BODY_BYTES: usize = 300 << 20;

/// Begins an operation of `model`; `parent` is the beginning of its name.
pub(super) async fn submit(
    provider: &Provider,
    model: &str,
    parent: &str,
    headers: &HeaderMap,
    body: Incoming,
) -> HandlerResult {
    let bytes = server::read(body, MAX_BODY_BYTES).await?;
    let is_json = server::mime(headers) == "application/json";
    let body: Option<Value> = bytes.filter(|_| is_json).and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let recorded = body.as_ref().map_or(Value::Null, check::recorded);
    let decline = |refusal: &Refusal| {
        let (status, code) = (refusal.status, refusal.name.to_owned());
        let (message, body) = (refusal.message.clone(), recorded.clone());
        provider.table().declined.push(DeclinedVideo { status, code, message, body });
    };
    let checked = account(provider, headers).and_then(|account| {
        let body = body.ok_or_else(|| Refusal::argument("Invalid JSON payload received."))?;
        let now = provider.now();
        let stored = |uri: &str| provider.table().stored(uri, account, now);
        check::check(model, &body, stored).map(|order| (account, order))
    });
    let (account, order) = match checked {
        Ok(checked) => checked,
        Err(refusal) => {
            decline(&refusal);
            return Ok(refusal.response());
        }
    };
    let record =
        BegunVideo { account, model: model.to_owned(), body: recorded.clone(), ..BegunVideo::default() };
    let now = provider.now();
    // Bound first: the guard must be gone before `decline` locks again.
    let begun = provider.table().begin(order, record, parent, now);
    match begun {
        Ok((name, receipt)) => receipt_of(&name, receipt).await,
        Err(fault) => {
            let refusal = error(fault);
            decline(&refusal);
            Ok(refused(fault, &refusal))
        }
    }
}

async fn receipt_of(name: &str, fault: Option<Marker>) -> HandlerResult {
    match fault {
        Some(Marker::SubmitCut) => Err(closed()),
        Some(Marker::SubmitHang) => std::future::pending().await,
        Some(Marker::SubmitGarbage) => Ok(server::reply(200, "application/json", "{\"name\": \"proj")),
        Some(_) => Ok(server::json(200, &json!({ "metadata": {} }))),
        None => Ok(server::json(200, &json!({ "name": name }))),
    }
}

/// The answer of a marker that refuses.
fn refused(fault: Marker, refusal: &Refusal) -> Response<Body> {
    match fault {
        Marker::Proxy => html(),
        Marker::InvalidInList => refusal.in_list(),
        _ => refusal.response(),
    }
}
