//! A response as a plugin sees it: capped, stripped, and with the secret taken out should it be echoed.

use std::error::Error;
use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, StreamExt};
use gatehouse_model::{Affinity, Body, Header, Outage, Reply};
use http::{HeaderMap, Response};
use http_body_util::BodyExt;
use hyper::body::Body as HttpBody;
use tokio::time::{Instant, timeout_at};

use crate::auth::redact::{Redactor, StreamRedactor};
use crate::client::exchange::chain;
use crate::request::body::Blobs;

/// Why a body did not come whole.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{outage:?}: {detail}")]
pub(crate) struct BodyError {
    pub(crate) outage: Outage,
    pub(crate) detail: Arc<str>,
    /// Says something about the provider, not about our limits or our store.
    pub(crate) blames_provider: bool,
}

impl BodyError {
    fn by_provider(outage: Outage, detail: impl Into<Arc<str>>) -> Self {
        Self { outage, detail: detail.into(), blames_provider: true }
    }
    fn by_host(outage: Outage, detail: impl Into<Arc<str>>) -> Self {
        Self { outage, detail: detail.into(), blames_provider: false }
    }
}

/// The body of an answer, looked at or not.
pub(crate) trait AnswerBody: HttpBody<Data = Bytes, Error: Error + 'static> + Send + Unpin {}
impl<B: HttpBody<Data = Bytes, Error: Error + 'static> + Send + Unpin> AnswerBody for B {}

/// What some servers write before their JSON, which nobody may: readers refuse it.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// What a plugin never sees of a reply: cookies, credentials, hop-by-hop headers.
const STRIPPED: &[&str] = &[
    "api-key",
    "authentication-info",
    "authorization",
    "connection",
    "cookie",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "set-cookie",
    "set-cookie2",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
    "x-api-key",
    "x-goog-api-key",
    "x-key",
];

/// Headers of one reply, and bytes of one header value, that are handed on.
const MAX_HEADERS: usize = 64;
const MAX_VALUE: usize = 4096;

/// Reads the response to its end. With `saved` the body of a success becomes a blob; other answers are
/// small explanations the plugin must be able to read.
pub(crate) async fn read<B: AnswerBody>(
    response: Response<B>,
    redactor: &Arc<Redactor>,
    max_reply: u64,
    saved: Option<(&dyn Blobs, u64)>,
    deadline: Instant,
    affinity: Affinity,
) -> Result<Reply, BodyError> {
    let (head, body) = response.into_parts();
    let headers = headers_for_plugin(&head.headers, redactor);
    let body = match saved {
        // No plugin sees the bytes of a file, but it may name the file as a result.
        Some((blobs, max)) if head.status.is_success() => {
            save(body, blobs, max, deadline, StreamRedactor::new(Arc::clone(redactor))).await?
        }
        _ => {
            let bytes = Bytes::from(redactor.clean(collect(body, max_reply, deadline).await?));
            let is_json = |bytes: &Bytes| matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['));
            let unmarked = bytes.strip_prefix(MARK).map(|rest| bytes.slice_ref(rest)).filter(is_json);
            Body::Inline(unmarked.unwrap_or(bytes))
        }
    };
    Ok(Reply { status: head.status.as_u16(), headers, body, affinity })
}

/// The headers of a reply a plugin may see; those that hold the secret are left out whatever their name.
pub(crate) fn headers_for_plugin(headers: &HeaderMap, redactor: &Redactor) -> Vec<Header> {
    // `Connection: x-foo` makes x-foo hop-by-hop too.
    let listed: Vec<String> = headers
        .get_all(http::header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(|name| name.trim().to_ascii_lowercase()))
        .collect();
    let visible = |name: &str, value: &str| {
        !STRIPPED.contains(&name)
            && !listed.iter().any(|hop| hop == name)
            && value.len() <= MAX_VALUE
            && !redactor.is_in(value.as_bytes())
    };
    headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
        .filter(|(name, value)| visible(name, value))
        .take(MAX_HEADERS)
        .map(|(name, value)| Header { name: name.to_owned(), value: value.to_owned() })
        .collect()
}

async fn collect<B: AnswerBody>(mut body: B, max: u64, deadline: Instant) -> Result<Vec<u8>, BodyError> {
    let mut bytes = BytesMut::new();
    check_announced(&body, max)?;
    while let Some(piece) = next(&mut body, deadline).await? {
        if bytes.len() as u64 + piece.len() as u64 > max {
            return Err(too_large(max));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.into())
}

async fn save<B: AnswerBody>(
    body: B,
    blobs: &dyn Blobs,
    max: u64,
    deadline: Instant,
    redactor: StreamRedactor,
) -> Result<Body, BodyError> {
    check_announced(&body, max)?;
    let pieces = stream::unfold(Some((body, 0_u64, redactor)), move |state| async move {
        let (mut body, before, mut redactor) = state?;
        match next(&mut body, deadline).await {
            Ok(None) => Some((Ok(redactor.end()), None)),
            Ok(Some(piece)) => {
                let length = before + piece.len() as u64;
                if length > max {
                    return Some((Err(io::Error::other(too_large(max))), None));
                }
                Some((Ok(redactor.feed(piece)), Some((body, length, redactor))))
            }
            Err(cut) => Some((Err(io::Error::other(cut)), None)),
        }
    });
    match blobs.save(pieces.boxed()).await {
        Ok(id) => Ok(Body::Blob(format!("blob:{id}"))),
        Err(error) => Err(match error.get_ref().and_then(|inner| inner.downcast_ref::<BodyError>()) {
            Some(cut) => cut.clone(),
            // The answer is lost to us, the caller lost it.
            None => BodyError::by_host(Outage::Broken, format!("the reply could not be kept: {error}")),
        }),
    }
}

/// The next piece of data; trailers are not for plugins.
pub(crate) async fn next<B: AnswerBody>(body: &mut B, deadline: Instant) -> Result<Option<Bytes>, BodyError> {
    loop {
        match timeout_at(deadline, body.frame()).await {
            Err(_) => return Err(BodyError::by_provider(Outage::Timeout, "the answer did not end in time")),
            Ok(None) => return Ok(None),
            Ok(Some(Err(error))) => return Err(BodyError::by_provider(Outage::Broken, chain(&error))),
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

fn check_announced(body: &impl HttpBody, max: u64) -> Result<(), BodyError> {
    if body.size_hint().lower() > max { Err(too_large(max)) } else { Ok(()) }
}

fn too_large(max: u64) -> BodyError {
    BodyError::by_host(Outage::TooLarge, format!("the answer is larger than {max} bytes"))
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Secret;
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_plugin_sees_only_what_is_for_it() {
        let secret = Secret::new("s3cret-value".to_owned());
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("retry-after", "3"),
            ("set-cookie", "a=b"),
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("x-echo", "key s3cret-value"),
            ("www-authenticate", "Basic"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers.append("x-binary", HeaderValue::from_bytes(b"\xff").unwrap());
        assert_eq!(
            headers_for_plugin(&headers, &Redactor::of(Some(&secret))),
            [Header { name: "retry-after".to_owned(), value: "3".to_owned() }]
        );
    }
}
