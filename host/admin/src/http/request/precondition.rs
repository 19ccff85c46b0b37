//! The headers that guard a change: preconditions and `Idempotency-Key`.
//!
//! `If-Match` and `If-None-Match` are compared with strong entity tags. A tag is `"<policy>.<whole>"`: the digest of what an
//! edit may change, and of the whole object. A read compares the whole tag. An edit compares the first part
//! alone: what is spent through a key between a read and an edit is nothing that the edit could overwrite.
//!
//! `Idempotency-Key`: a request that came before is recognised for 24 hours. Money and new secrets need one.

use std::time::Duration;

use gatehouse_model::{Digest, UnixMs};
use gatehouse_tasks::AdminIdempotency;
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName};
use serde::Serialize;
use serde_json::Value;

use crate::error::{ApiError, Kind};

const DIGEST_BYTES: usize = 8;

/// An object that edits may change.
pub(crate) trait Edited: Serialize {
    /// Counts edits.
    fn revision(&self) -> u64;

    /// The tag: the revision, which an edit compares, and all the rest.
    fn etag(&self) -> String
    where
        Self: Sized,
    {
        etag(&self.revision(), self)
    }
}

/// The tag of an object, quotes included.
fn etag(policy: &impl Serialize, whole: &impl Serialize) -> String {
    format!("\"{}.{}\"", short(policy), short(whole))
}

/// The tag of an object that no edit changes.
pub(crate) fn etag_of(whole: &impl Serialize) -> String {
    format!("\"{}\"", short(whole))
}

fn short(value: &impl Serialize) -> String {
    Digest::of(&serde_json::to_vec(value).expect("objects have string keys only")).prefix(DIGEST_BYTES)
}

/// Checks an edit of this object.
pub(crate) fn check_edited(headers: &HeaderMap, current: &impl Edited) -> Result<(), ApiError> {
    check_match(headers, &current.etag(), current)
}

fn check_match(headers: &HeaderMap, etag: &str, current: &impl Serialize) -> Result<(), ApiError> {
    let mut tags = tags(headers, &IF_MATCH).peekable();
    if tags.peek().is_none() {
        let message = "If-Match: missing; send the ETag of the object as you read it";
        return Err(ApiError::new(Kind::MissingPrecondition, message).with_param("If-Match"));
    }
    // A weak tag never matches here (RFC 9110, 13.1.1).
    let policy = |tag: &str| tag.trim_matches('"').split('.').next().map(str::to_owned);
    if tags.any(|tag| tag == "*" || (!tag.starts_with("W/") && policy(tag) == policy(etag))) {
        return Ok(());
    }
    Err(ApiError::stale(serde_json::to_value(current).unwrap_or(Value::Null), etag))
}

/// Whether a read finds what its client has already.
pub(crate) fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    tags(headers, &IF_NONE_MATCH).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
}

fn tags<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).filter(|tag| !tag.is_empty())
}

/// The header by which a request that came before is recognised.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static(HEADER);
const HEADER: &str = "idempotency-key";
const KEPT: Duration = Duration::from_secs(24 * 3600);
const MAX_BYTES: usize = 255;

/// The digest of a request: its operation, its path, its condition and its body.
pub(crate) fn fingerprint(operation: &str, path: &str, body: &[u8]) -> Digest {
    Digest::of_fields(&[operation.as_bytes(), path.as_bytes(), body])
}

/// Reads the header of a request that needs one.
pub(crate) fn read(
    headers: &HeaderMap,
    fingerprint: Digest,
    now: UnixMs,
) -> Result<AdminIdempotency, ApiError> {
    let mut lines = headers.get_all(HEADER).iter();
    let missing = || {
        let message =
            "Idempotency-Key: missing; send a text of your own, and the same one when you repeat the request";
        ApiError::new(Kind::MissingIdempotencyKey, message).with_param(HEADER)
    };
    let key = lines.next().ok_or_else(missing)?;
    if lines.next().is_some() {
        return Err(ApiError::field(HEADER, "Idempotency-Key: given more than once"));
    }
    if key.is_empty() || key.len() > MAX_BYTES {
        return Err(ApiError::field(HEADER, format!("Idempotency-Key: expected 1 to {MAX_BYTES} bytes")));
    }
    let token = Digest::of_fields(&[b"admin", key.as_bytes()]);
    Ok(AdminIdempotency { token, fingerprint, object: String::new(), expires: now.plus(KEPT) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if !value.is_empty() {
            headers.insert(name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn an_edit_needs_the_tag_of_what_it_changes() {
        let (before, after, spent) = (etag(&1, &1), etag(&2, &2), etag(&1, &9));
        for (sent, expected) in [
            (before.as_str(), 200),
            (spent.as_str(), 200),
            ("*", 200),
            (&format!("\"x\", {before}"), 200),
            ("", 428),
            (after.as_str(), 412),
            (&format!("W/{before}"), 412),
            ("x", 412),
        ] {
            let checked = check_match(&headers(IF_MATCH, sent), &before, &7);
            assert_eq!(checked.map_or_else(|error| error.status(), |()| 200), expected, "{sent}");
        }
    }

    #[test]
    fn a_read_compares_the_whole_tag() {
        let (before, spent) = (etag(&1, &1), etag(&1, &9));
        assert!(is_known(&headers(IF_NONE_MATCH, &before), &before));
        assert!(is_known(&headers(IF_NONE_MATCH, &format!("W/{before}")), &before));
        assert!(!is_known(&headers(IF_NONE_MATCH, &before), &spent));
        assert!(!is_known(&headers(IF_NONE_MATCH, ""), &before));
    }

    #[test]
    fn a_key_is_needed_once_and_has_a_length() {
        let print = fingerprint("createKey", "/keys", b"{}");
        let read = |keys: &[&str]| {
            let mut headers = HeaderMap::new();
            for key in keys {
                headers.append(HEADER, key.parse().unwrap());
            }
            read(&headers, print, UnixMs(5)).map_err(|error| error.message().to_owned())
        };
        assert!(read(&[]).unwrap_err().contains("missing"));
        assert!(read(&["a", "a"]).unwrap_err().contains("more than once"));
        assert!(read(&[&"x".repeat(256)]).unwrap_err().contains("1 to 255"));
        let one = read(&["a"]).unwrap();
        assert_eq!((one.expires, one.fingerprint), (UnixMs(5 + 86_400_000), print));
        assert_ne!(one.token, read(&["b"]).unwrap().token);
        assert_ne!(print, fingerprint("createKey", "/keys", b"{} "));
    }
}
