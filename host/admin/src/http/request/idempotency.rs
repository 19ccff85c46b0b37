//! `Idempotency-Key`: a request that came before is recognised for 24 hours. Money and new secrets need one.

use std::time::Duration;

use gatehouse_model::{Digest, UnixMs};
use gatehouse_tasks::AdminIdempotency;
use http::{HeaderMap, HeaderName};

use crate::error::{ApiError, Kind};

pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static(HEADER);
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
