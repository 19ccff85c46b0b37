//! Posting traces to the operator's collector (OTLP over HTTP). The operator wrote its address out, so it may be private. No
//! redirect is followed.

use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::Secret;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Limited};
use tokio::time::Instant;
use url::Url;

use crate::auth::credential::sensitive;
use crate::client::exchange::{self, AGENT, Http, payload};
use crate::client::origin::{Origin, has_login};
use crate::config::check;
use crate::config::settings::OutgoingRoute;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// For one batch.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of an answer that are read: it has a sentence at most, and the connection can be kept.
const MAX_ANSWER: usize = 64 * 1024;
/// Where a collector takes traces whose address has no path.
const PATH: &str = "/v1/traces";

/// A client of one collector.
pub struct Collector {
    http: Http,
    uri: Uri,
    headers: HeaderMap,
}

/// Why a batch was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct NotTaken {
    why: String,
    /// The same batch may be taken later.
    pub may_repeat: bool,
}

/// The address at which a collector takes traces.
pub fn check_collector_url(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text).map_err(|error| format!("expected a URL, got {text:?}: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(format!("expected http or https, got {text:?}"));
    }
    if has_login(&url) {
        return Err("expected no user name and no password in it; use `headers`".to_owned());
    }
    if url.path() == "/" {
        url.set_path(PATH);
    }
    Ok(url)
}

impl Collector {
    /// A client that sends `headers` along, over connections of that route.
    ///
    /// # Errors
    /// What cannot be used: the address, a header by its name, the roots or the proxy.
    pub fn new(
        url: &str,
        headers: &[(String, Secret<String>)],
        route: &OutgoingRoute<'_>,
    ) -> Result<Self, String> {
        let url = check_collector_url(url)?;
        let uri = url.as_str().parse().map_err(|_| format!("expected a URL, got {url}"))?;
        let private = Origin::of(&url).iter().map(Origin::as_private).collect();
        let http = check::network(route)?.client(private, CONNECT_TIMEOUT, 1);
        let mut all = HeaderMap::new();
        all.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        all.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        for (name, value) in headers {
            let key = name.parse::<HeaderName>().map_err(|_| format!("{name:?} is no name of a header"))?;
            let value = sensitive(value.expose()).ok_or_else(|| format!("header {name:?} cannot be sent"))?;
            all.insert(key, value);
        }
        Ok(Self { http, uri, headers: all })
    }

    /// Sends a batch, and waits until it is taken.
    ///
    /// # Errors
    /// [`NotTaken`]; never with a header's value.
    pub async fn send(&self, batch: Bytes) -> Result<(), NotTaken> {
        let mut request = Request::new(payload(batch));
        (*request.method_mut(), *request.uri_mut()) = (Method::POST, self.uri.clone());
        request.headers_mut().clone_from(&self.headers);
        let answered = exchange::send(&self.http, request, Instant::now() + TIMEOUT).await;
        let response = answered.map_err(|error| NotTaken { why: error.to_string(), may_repeat: true })?;
        let status = response.status();
        // Read to its end, so that the connection is kept; what it says is of no use here.
        let _ = tokio::time::timeout(TIMEOUT, Limited::new(response.into_body(), MAX_ANSWER).collect()).await;
        if status.is_success() {
            return Ok(());
        }
        // As OTLP/HTTP has it.
        let may_repeat = matches!(status.as_u16(), 429 | 502 | 503 | 504);
        Err(NotTaken { why: format!("it answered {status}"), may_repeat })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::OutgoingConfig;

    #[test]
    fn an_address_without_a_path_gets_the_usual_one() {
        for (text, expected) in [
            ("http://127.0.0.1:4318", Some("http://127.0.0.1:4318/v1/traces")),
            ("https://collector.example/", Some("https://collector.example/v1/traces")),
            (
                "https://collector.example/otlp/v1/traces?a=b",
                Some("https://collector.example/otlp/v1/traces?a=b"),
            ),
            ("ftp://collector.example", None),
            ("https://user:word@collector.example", None),
            ("collector:4318", None),
        ] {
            let found = check_collector_url(text);
            assert_eq!(found.as_ref().ok().map(Url::as_str), expected, "{text}: {found:?}");
            assert!(!format!("{:?}", found.err()).contains("word@"));
        }
    }

    /// Without it a wrong header is noticed when the first trace is missed.
    #[test]
    fn headers_are_checked_and_not_shown() {
        let header = |name: &str, value: &str| vec![(name.to_owned(), Secret::new(value.to_owned()))];
        let outgoing = OutgoingConfig::default();
        let route = OutgoingRoute {
            extra_roots_file: None,
            outgoing: &outgoing,
            secrets: &|_| Err("there are none".to_owned()),
        };
        let new = |headers: Vec<_>| Collector::new("http://127.0.0.1:1", &headers, &route).map(|_| ());
        assert_eq!(new(header("authorization", "Bearer x")), Ok(()));
        assert_eq!(new(header("a b", "x")), Err("\"a b\" is no name of a header".to_owned()));
        assert_eq!(new(header("a", "s\necret")), Err("header \"a\" cannot be sent".to_owned()));
    }
}
