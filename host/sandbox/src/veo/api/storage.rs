//! The listener of the buckets that Vertex AI writes to, with the same tokens.

use std::sync::Arc;

use http::{Method, Request};
use hyper::body::Incoming;
use url::form_urlencoded;

use crate::common::server::HandlerResult;
use crate::veo::api::files;
use crate::veo::provider::{Provider, account};
use crate::veo::refusal::Refusal;

/// The storage listener: answers its requests.
pub(in crate::veo) async fn handle(provider: Arc<Provider>, request: Request<Incoming>) -> HandlerResult {
    let account = match account(&provider, request.headers()) {
        Ok(account) => account,
        Err(refusal) => return Ok(refusal.response()),
    };
    let path = request.uri().path().strip_prefix("/storage/v1/b/");
    let object = path.and_then(|path| path.split_once("/o/")).filter(|(_, object)| !object.contains('/'));
    let is_media = request.uri().query() == Some("alt=media");
    match (request.method(), object) {
        (&Method::GET, Some((bucket, object))) if is_media => {
            let file = format!("gs://{}/{}", decoded(bucket), decoded(object));
            files::send(&provider, account, &file).await
        }
        _ => Ok(Refusal::not_found("Not Found").response()),
    }
}

/// Percent-decoded. A plus sign stands for itself in a path.
fn decoded(text: &str) -> String {
    let text = text.replace('+', "%2B");
    form_urlencoded::parse(text.as_bytes()).map(|(name, _)| name.into_owned()).next().unwrap_or_default()
}
