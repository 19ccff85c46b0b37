//! The listener of the control plane: signature first, then the action.

use std::sync::Arc;

use http::{Method, Request};
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::actions;
use super::errors::{ControlError, envelope};
use super::signature::{Arrived, account};
use crate::ark::faults::Marker;
use crate::ark::provider::Provider;
use crate::common::server::{self, HandlerResult, closed, parameter};

const VERSION: &str = "2024-01-01";
const MAX_BODY_BYTES: usize = 1 << 20;

/// The listener of the control plane: answers its requests.
pub(crate) async fn handle(provider: Arc<Provider>, request: Request<Incoming>) -> HandlerResult {
    let (head, body) = request.into_parts();
    let query = head.uri.query().unwrap_or_default();
    let action = parameter(query, "Action").unwrap_or_default().into_owned();
    let refuse = |error| Ok(envelope(&action, Err(error)));
    let Some(bytes) = server::read(body, MAX_BODY_BYTES).await? else {
        return refuse(ControlError::invalid("body", "at most 1 MiB"));
    };
    let arrived = Arrived { method: &head.method, uri: &head.uri, headers: &head.headers, body: &bytes };
    let account = match account(&arrived, &provider.settings.keys, provider.now()) {
        Ok(account) => account,
        Err(error) => return refuse(error),
    };
    if parameter(query, "Version").as_deref() != Some(VERSION) || head.method != Method::POST {
        return refuse(ControlError::new(404, "InvalidActionOrVersion", "There is no such version."));
    }
    let body: Value = match serde_json::from_slice(&bytes) {
        Ok(body @ Value::Object(_)) => body,
        _ => return refuse(ControlError::invalid("body", "expected a JSON object")),
    };
    match actions::act(&provider, account, &action, &body) {
        Ok((_, Some(Marker::ReceiptCut))) => Err(closed()),
        Ok((_, Some(Marker::ReceiptHang))) => std::future::pending().await,
        Ok((_, Some(Marker::Unavailable))) => {
            Ok(server::reply(503, "text/html", "<html><body>503</body></html>\n"))
        }
        Ok((_, Some(_))) => Ok(server::reply(200, "application/json", "{\"ResponseMetadata\": {")),
        Ok((answer, None)) => Ok(envelope(&action, Ok(json!(answer)))),
        Err(error) => refuse(error),
    }
}
