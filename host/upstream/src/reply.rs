//! A response as a plugin sees it: capped, stripped, and with the secret taken out should it be echoed.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, StreamExt};
use gatehouse_model::{Body, Outage, Reply, Secret};
use http::Response;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use tokio::time::{Instant, timeout_at};

use crate::exchange::chain;
use crate::{Blobs, headers};

/// What an echoed secret is replaced with.
const MASK: &[u8] = b"(secret)";

/// Why a body did not come whole.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{outage:?}: {detail}")]
pub(crate) struct Cut {
    pub(crate) outage: Outage,
    pub(crate) detail: Arc<str>,
    /// Says something about the provider, not about our limits or our store.
    pub(crate) theirs: bool,
}

impl Cut {
    fn theirs(outage: Outage, detail: impl Into<Arc<str>>) -> Self {
        Self { outage, detail: detail.into(), theirs: true }
    }
    fn ours(outage: Outage, detail: impl Into<Arc<str>>) -> Self {
        Self { outage, detail: detail.into(), theirs: false }
    }
}

/// Reads the response to its end. With `saved` the body of a success becomes a blob; other answers are
/// small explanations the plugin must be able to read.
pub(crate) async fn read(
    response: Response<Incoming>,
    secret: Option<&Secret<String>>,
    max_reply: u64,
    saved: Option<(&dyn Blobs, u64)>,
    deadline: Instant,
) -> Result<Reply, Cut> {
    let (head, body) = response.into_parts();
    let headers = headers::incoming(&head.headers, secret);
    let body = match saved {
        Some((blobs, max)) if head.status.is_success() => save(body, blobs, max, deadline).await?,
        _ => Body::Inline(masked(collect(body, max_reply, deadline).await?, secret)),
    };
    Ok(Reply { status: head.status.as_u16(), headers, body })
}

async fn collect(mut body: Incoming, max: u64, deadline: Instant) -> Result<Vec<u8>, Cut> {
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

async fn save(body: Incoming, blobs: &dyn Blobs, max: u64, deadline: Instant) -> Result<Body, Cut> {
    check_announced(&body, max)?;
    let pieces = stream::unfold(Some((body, 0_u64)), move |state| async move {
        let (mut body, before) = state?;
        match next(&mut body, deadline).await {
            Ok(None) => None,
            Ok(Some(piece)) => {
                let length = before + piece.len() as u64;
                if length > max {
                    return Some((Err(io::Error::other(too_large(max))), None));
                }
                Some((Ok(piece), Some((body, length))))
            }
            Err(cut) => Some((Err(io::Error::other(cut)), None)),
        }
    });
    match blobs.save(pieces.boxed()).await {
        Ok(id) => Ok(Body::Blob(format!("blob:{id}"))),
        Err(error) => Err(match error.get_ref().and_then(|inner| inner.downcast_ref::<Cut>()) {
            Some(cut) => cut.clone(),
            // The answer is lost to us, whoever lost it.
            None => Cut::ours(Outage::Broken, format!("the reply could not be kept: {error}")),
        }),
    }
}

/// The next piece of data; trailers are not for plugins.
async fn next(body: &mut Incoming, deadline: Instant) -> Result<Option<Bytes>, Cut> {
    loop {
        match timeout_at(deadline, body.frame()).await {
            Err(_) => return Err(Cut::theirs(Outage::Timeout, "the answer did not end in time")),
            Ok(None) => return Ok(None),
            Ok(Some(Err(error))) => return Err(Cut::theirs(Outage::Broken, chain(&error))),
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

fn check_announced(body: &Incoming, max: u64) -> Result<(), Cut> {
    if body.size_hint().lower() > max { Err(too_large(max)) } else { Ok(()) }
}

fn too_large(max: u64) -> Cut {
    Cut::ours(Outage::TooLarge, format!("the answer is larger than {max} bytes"))
}

/// Providers quote a refused key in their error texts; the plugin must not learn it that way.
pub(crate) fn masked(bytes: Vec<u8>, secret: Option<&Secret<String>>) -> Vec<u8> {
    let Some(secret) = secret.map(|secret| secret.expose().as_bytes()) else { return bytes };
    let finder = memchr::memmem::Finder::new(secret);
    let mut places = finder.find_iter(&bytes).peekable();
    if places.peek().is_none() {
        return bytes;
    }
    let mut clean = Vec::with_capacity(bytes.len());
    let mut done = 0;
    for at in places {
        clean.extend_from_slice(&bytes[done..at]);
        clean.extend_from_slice(MASK);
        done = at + secret.len();
    }
    clean.extend_from_slice(&bytes[done..]);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echoed_secret_is_masked() {
        let secret = Secret::new("sk-live-1".to_owned());
        for (text, expected) in [
            ("", ""),
            ("nothing", "nothing"),
            ("sk-live-1", "(secret)"),
            ("bad key sk-live-1, sk-live-1!", "bad key (secret), (secret)!"),
            ("sk-live-", "sk-live-"),
        ] {
            assert_eq!(masked(text.into(), Some(&secret)), expected.as_bytes());
        }
        assert_eq!(masked(b"sk-live-1".to_vec(), None), b"sk-live-1");
    }
}
