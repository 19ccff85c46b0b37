//! Posting to an address of a customer: a webhook.
//!
//! The same rules as for URLs of users (see `fetcher`): only public addresses and the usual ports, unless the operator wrote
//! the host out, here in `webhooks.allow_private`: a host that links may be fetched from need not take what
//! customers post. No redirect is followed, no credential and no cookie is sent. Every error text may be
//! shown to the owner of the address.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::client::exchange::{self, Payload};
use crate::client::origin::{Origin, has_login};
use crate::fetch::fetcher::{self, FetchError, Fetcher, LOGIN, NO_ORIGIN, UNPARSED};
use crate::response::retry_after;

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
        let (url, origin) = parse(url, over_http)?;
        self.posts().client(&origin)?;
        self.posts().check_host(&url, &origin)
    }

    /// Posts, and waits for the answer.
    ///
    /// # Errors
    /// See [`FetchError`]: there is no answer.
    pub async fn post(&self, post: &Post<'_>) -> Result<Answer, FetchError> {
        let deadline = Instant::now() + post.timeout;
        let (url, origin) = parse(post.url, post.over_http)?;
        let http = self.posts().client(&origin)?;
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

fn parse(url: &str, over_http: bool) -> Result<(Url, Origin), FetchError> {
    let url = Url::parse(url).map_err(|_| UNPARSED)?;
    if !over_http && url.scheme() != "https" {
        return Err(FetchError::BadUrl("expected https"));
    }
    let origin = Origin::of(&url).ok_or(NO_ORIGIN)?;
    if has_login(&url) { Err(LOGIN) } else { Ok((url, origin)) }
}

fn request(url: &Url, post: &Post<'_>) -> Result<Request<Payload>, FetchError> {
    let mut request = fetcher::request(url, post.body.clone())?;
    *request.method_mut() = Method::POST;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
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
