//! One exchange with an OAuth 2 token endpoint: the JWT bearer grant of RFC 7523, section 2.1.
//!
//! ```text
//! POST token_uri   grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=JWT
//! JWT              RS256 over iss (the account's e-mail), scope, aud (token_uri), iat, exp, and sub where configured
//! ```
//!
//! Goes through the same checked connector as calls. Follows no redirect, keeps nothing, and says in an error only what the
//! endpoint said of it, without the assertion.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::{Clock, Secret, Seed, UnixMs};
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::auth::jwt;
use crate::auth::key_file::ServiceAccountKey;
use crate::auth::redact::Redactor;
use crate::client::exchange::{self, AGENT, Http, Payload, payload};

/// The longest exchange.
const PATIENCE: Duration = Duration::from_secs(30);
/// The largest answer.
const MAX_ANSWER: usize = 64 << 10;
/// The most characters of an answer that an error repeats.
const MAX_QUOTED: usize = 200;
/// The validity of an assertion, the most that Google takes.
const ASSERTION_S: u64 = 3600;
/// The validity of a token whose answer names none.
const DEFAULT_S: u64 = 300;
/// The longest validity that is believed.
const LONGEST_S: u64 = 86_400;

/// What an account asks for, and of whom.
#[derive(PartialEq)]
pub(crate) struct Grant {
    pub(crate) key: ServiceAccountKey,
    pub(crate) endpoint: Url,
    pub(crate) scope: String,
    pub(crate) subject: Option<String>,
}

/// What it takes to ask.
#[derive(Clone)]
pub(crate) struct TokenAccess {
    pub(crate) http: Http,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seed: Arc<dyn Seed>,
}

/// Why there is no token.
#[derive(Clone, Debug, thiserror::Error)]
#[error("no access token: {detail}")]
pub(crate) struct TokenError {
    detail: Arc<str>,
    /// The endpoint refused the account; otherwise it did not answer as it should.
    pub(crate) refused: bool,
}

impl TokenError {
    pub(crate) fn unavailable(detail: impl Into<Arc<str>>) -> Self {
        Self { detail: detail.into(), refused: false }
    }
}

/// What the endpoint issued.
pub(crate) struct Issued {
    pub(crate) text: Secret<String>,
    pub(crate) lifetime: Duration,
}

/// Asks for a token.
pub(crate) async fn fetch(http: &Http, grant: &Grant, now: UnixMs) -> Result<Issued, TokenError> {
    let deadline = Instant::now() + PATIENCE;
    let assertion = jwt::by_rsa(&grant.key.key, grant.key.key_id.as_deref(), &claims(grant, now))
        .ok_or_else(|| TokenError::unavailable("the key cannot sign"))?;
    let response = exchange::send(http, request(&grant.endpoint, &assertion)?, deadline).await;
    let (head, body) = response.map_err(|error| TokenError::unavailable(error.to_string()))?.into_parts();
    let body = timeout_at(deadline, Limited::new(body, MAX_ANSWER).collect()).await;
    let body =
        body.map_err(|_| TokenError::unavailable("the token endpoint's answer did not end in time"))?;
    let body =
        body.map_err(|error| TokenError::unavailable(format!("the token endpoint's answer: {error}")))?;
    let body = body.to_bytes();
    if head.status == StatusCode::OK { issued(&body) } else { Err(refusal(head.status, &body, &assertion)) }
}

fn claims(grant: &Grant, now: UnixMs) -> Value {
    let seconds = now.seconds();
    let mut claims = json!({
        "iss": grant.key.email,
        "scope": grant.scope,
        "aud": grant.endpoint.as_str(),
        "iat": seconds,
        "exp": seconds.saturating_add(ASSERTION_S),
    });
    if let Some(subject) = &grant.subject {
        claims["sub"] = subject.as_str().into();
    }
    claims
}

fn request(endpoint: &Url, assertion: &Secret<String>) -> Result<Request<Payload>, TokenError> {
    let form: Bytes = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
        .append_pair("assertion", assertion.expose())
        .finish()
        .into();
    let length = HeaderValue::from(form.len());
    let mut request = Request::post(endpoint.as_str())
        .body(payload(form))
        .map_err(|_| TokenError::unavailable("the token endpoint's URL cannot be sent"))?;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    headers.insert(CONTENT_LENGTH, length);
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    Ok(request)
}

#[derive(Deserialize)]
struct Answer {
    access_token: Secret<String>,
    token_type: Option<String>,
    expires_in: Option<Value>,
}

fn issued(body: &[u8]) -> Result<Issued, TokenError> {
    let wrong = |what: &str| TokenError::unavailable(format!("the token endpoint answered 200 {what}"));
    // The parser's own message may quote the token.
    let answer: Answer = serde_json::from_slice(body).map_err(|_| wrong("without an access_token"))?;
    if answer.token_type.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err(wrong("with a token that is no bearer token"));
    }
    let text = answer.access_token.expose();
    if text.is_empty() || HeaderValue::from_str(text).is_err() {
        return Err(wrong("with a token that cannot be sent"));
    }
    // A number by RFC 6749; some endpoints write it as text.
    let seconds = match &answer.expires_in {
        Some(Value::String(text)) => text.parse().ok(),
        Some(number) => number.as_u64(),
        None => None,
    };
    let lifetime = Duration::from_secs(seconds.unwrap_or(DEFAULT_S).min(LONGEST_S));
    Ok(Issued { text: answer.access_token, lifetime })
}

fn refusal(status: StatusCode, body: &[u8], assertion: &Secret<String>) -> TokenError {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |field: &str| answer.get(field).and_then(Value::as_str).unwrap_or_default();
    let said = format!("{} {}", text("error"), text("error_description"));
    let said = Redactor::of([assertion, &jwt::signature_of(assertion)]).clean(said.into_bytes());
    let said: String =
        String::from_utf8_lossy(&said).chars().filter(|c| !c.is_control()).take(MAX_QUOTED).collect();
    let detail = format!("the token endpoint answered {} {}", status.as_u16(), said.trim());
    let passing = matches!(status.as_u16(), 408 | 429) || !status.is_client_error();
    TokenError { detail: detail.trim_end().into(), refused: !passing }
}
