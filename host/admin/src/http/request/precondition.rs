//! `If-Match` and `If-None-Match` over strong entity tags. Pure.
//!
//! A tag is `"<policy>.<whole>"`: the digest of what an edit may change, and of the whole object. A read compares the whole
//! tag. An edit compares the first part alone: what is spent through a key between a read and an edit is nothing that the
//! edit could overwrite.

use gatehouse_model::Digest;
use http::HeaderMap;
use http::header::{IF_MATCH, IF_NONE_MATCH};
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

fn tags<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> impl Iterator<Item = &'h str> {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).filter(|tag| !tag.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: http::HeaderName, value: &str) -> HeaderMap {
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
}
