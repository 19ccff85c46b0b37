//! Posting to an address of a customer: a webhook.
//!
//! The same rules as for URLs of users (see `fetcher`): only public addresses and the usual ports, unless the operator wrote
//! the host out, here in `webhooks.allow_private`: a host that links may be fetched from need not take what customers post. No redirect is followed, no credential and no cookie is sent. Every error text may be shown to the owner of
//! the address.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::client::exchange::{self, Payload};
use crate::client::origin::Origin;
use crate::fetch::fetcher::{FetchError, Fetcher};
use crate::response::retry_after;

const NO_ORIGIN: FetchError = FetchError::BadUrl("expected http or https");

/// One JSON body for one address.
#[derive(Clone, Debug)]
pub struct Post<'a> {
    /// Where to.
    pub url: &'a str,
    /// Further headers.
    pub headers: &'a [(&'static str, String)],
    /// Sent as it is.
    pub body: Bytes,
    /// The longest time, the answer's body included.
    pub timeout: Duration,
    /// Bytes of the answer's body that are read.
    pub max_answer: usize,
    /// Whether http is allowed.
    pub over_http: bool,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status; a redirect's is not followed.
    pub status: u16,
    /// How long the receiver asks to wait.
    pub retry_after: Option<Duration>,
    /// The beginning of the body, as far as it came in time.
    pub body: Bytes,
}

/// Checks the form of an address to post to: its scheme, and that it holds no user name and no password.
pub fn check_post_url(url: &str, over_http: bool) -> Result<(), FetchError> {
    parse(url, over_http).map(drop)
}

impl Fetcher {
    /// Checks an address to post to as far as it can be without a name server: its form, its port, and an address that
    /// is written out.
    pub fn check_post_url(&self, url: &str, over_http: bool) -> Result<(), FetchError> {
        let url = parse(url, over_http)?;
        let origin = Origin::of(&url).ok_or(NO_ORIGIN)?;
        self.posts().client(&origin)?;
        self.posts().check_host(&url, &origin)
    }

    /// Posts, and waits for the answer.
    ///
    /// # Errors
    /// See [`FetchError`]: there is no answer.
    pub async fn post(&self, post: &Post<'_>) -> Result<Answer, FetchError> {
        let deadline = Instant::now() + post.timeout;
        let url = parse(post.url, post.over_http)?;
        let http = self.posts().client(&Origin::of(&url).ok_or(NO_ORIGIN)?)?;
        let response = exchange::send(&http, request(&url, post)?, deadline)
            .await
            .map_err(|error| FetchError::of(error, &url))?;
        let now = self.clock().now();
        let asked = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        Ok(Answer {
            status: response.status().as_u16(),
            retry_after: asked.and_then(|text| retry_after::parse(text, now)),
            body: beginning(response.into_body(), post.max_answer, deadline).await,
        })
    }
}

fn parse(url: &str, over_http: bool) -> Result<Url, FetchError> {
    let url = Url::parse(url).map_err(|_| FetchError::BadUrl("it does not parse"))?;
    match url.scheme() {
        "https" => {}
        "http" if over_http => {}
        "http" => return Err(FetchError::BadUrl("expected https")),
        _ => {
            return Err(FetchError::BadUrl(if over_http {
                "expected http or https"
            } else {
                "expected https"
            }));
        }
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(FetchError::BadUrl("it must not hold a user name or password"));
    }
    Ok(url)
}

fn request(url: &Url, post: &Post<'_>) -> Result<Request<Payload>, FetchError> {
    let unusable = |_| FetchError::BadUrl("it does not parse");
    let body: Payload = UnsyncBoxBody::new(Full::new(post.body.clone()).map_err(|never| match never {}));
    let mut request = Request::new(body);
    *request.method_mut() = Method::POST;
    // The fragment is not sent; hyper takes path and query only.
    *request.uri_mut() = url.as_str().parse().map_err(unusable)?;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("gatehouse/", env!("CARGO_PKG_VERSION"))));
    for (name, value) in post.headers {
        let value =
            HeaderValue::from_str(value).map_err(|_| FetchError::BadUrl("its headers cannot be sent"))?;
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(request)
}

/// The status counts however the body ends.
async fn beginning(mut body: Incoming, most: usize, deadline: Instant) -> Bytes {
    let mut read = BytesMut::new();
    while read.len() < most {
        let Ok(Some(Ok(frame))) = timeout_at(deadline, body.frame()).await else { break };
        if let Ok(data) = frame.into_data() {
            let rest = most - read.len();
            read.extend_from_slice(&data[..data.len().min(rest)]);
        }
    }
    read.freeze()
}
