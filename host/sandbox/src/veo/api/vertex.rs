//! The listener of Vertex AI: submissions and polls, with a token of a service account.

use std::sync::Arc;

use http::{Method, Request};
use hyper::body::Incoming;
use serde_json::Value;

use crate::common::server::{self, HandlerResult};
use crate::veo::api::{answer, submit};
use crate::veo::provider::{Provider, account};
use crate::veo::refusal::Refusal;

/// Version, project and region, as in the address of the provider.
pub(in crate::veo) const BASE: &str = "/v1/projects/sandbox/locations/us-central1";
/// Google's SDK asks the beta version, which has the same paths.
const BETA: &str = "/v1beta1/";
const MODELS: &str = "/publishers/google/models/";
const MAX_BODY_BYTES: usize = 64 << 10;

/// The API listener: answers its requests.
pub(in crate::veo) async fn handle(provider: Arc<Provider>, request: Request<Incoming>) -> HandlerResult {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    let path = path.strip_prefix(BETA).map_or_else(|| path.to_owned(), |rest| format!("/v1/{rest}"));
    let called = path.strip_prefix(BASE).and_then(|path| path.strip_prefix(MODELS)?.split_once(':'));
    let parent = |model: &str| format!("{}{MODELS}{model}", BASE.trim_start_matches("/v1/"));
    match (head.method, called) {
        (Method::POST, Some((model, "predictLongRunning"))) => {
            let parent = parent(model);
            submit::submit(&provider, model, &parent, &head.headers, body).await
        }
        (Method::POST, Some((model, "fetchPredictOperation"))) => {
            let account = match account(&provider, &head.headers) {
                Ok(account) => account,
                Err(refusal) => return Ok(refusal.response()),
            };
            let bytes = server::read(body, MAX_BODY_BYTES).await?.unwrap_or_default();
            let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let name = body["operationName"].as_str().unwrap_or_default();
            if !name.starts_with(&format!("{}/operations/", parent(model))) {
                return Ok(Refusal::argument("operationName is not one of this model").response());
            }
            Ok(answer::answer(&provider, account, name).await)
        }
        _ => Ok(Refusal::not_found("The requested URL was not found on this server.").response()),
    }
}
