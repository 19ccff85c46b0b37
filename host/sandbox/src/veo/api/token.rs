//! The token endpoint.

use std::collections::HashMap;
use std::sync::Arc;

use http::{Method, Request};
use hyper::body::Incoming;
use serde_json::json;
use url::form_urlencoded;

use crate::common::server::{self, HandlerResult};
use crate::veo::provider::Provider;
use crate::veo::tokens::HOUR_S;

const MAX_BODY_BYTES: usize = 64 << 10;
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The listener of the token endpoint: answers its requests.
pub(in crate::veo) async fn handle(provider: Arc<Provider>, request: Request<Incoming>) -> HandlerResult {
    let refused =
        |code: &str, text: &str| Ok(server::json(400, &json!({ "error": code, "error_description": text })));
    if (request.method(), request.uri().path()) != (&Method::POST, "/token") {
        return Ok(server::reply(404, "text/plain", "there is nothing at this path"));
    }
    let is_form = server::mime(request.headers()) == "application/x-www-form-urlencoded";
    let bytes = server::read(request.into_body(), MAX_BODY_BYTES).await?.unwrap_or_default();
    let form: HashMap<String, String> = form_urlencoded::parse(&bytes).into_owned().collect();
    if !is_form || form.get("grant_type").map(String::as_str) != Some(GRANT) {
        return refused("unsupported_grant_type", "expected a form with the grant type jwt-bearer");
    }
    let assertion = form.get("assertion").map(String::as_str).unwrap_or_default();
    let issued = provider.table().tokens.issue(assertion, &provider.addresses.token, provider.now());
    match issued {
        Ok(token) => {
            let body = json!({ "access_token": token, "expires_in": HOUR_S, "token_type": "Bearer" });
            Ok(server::json(200, &body))
        }
        Err(problem) => refused("invalid_grant", problem),
    }
}
