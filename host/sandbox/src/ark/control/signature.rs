//! Checks the signature of a request (HMAC-SHA256 of Volcengine), from the request as it arrived.
//!
//! Written from the provider's documentation alone, so that an error of the gateway's signing is not repeated here.

use hmac::{Hmac, Mac};
use http::{HeaderMap, Method, Uri};
use sha2::{Digest, Sha256};
use url::form_urlencoded;

use super::errors::ControlError;

const SERVICE: &str = "ark";
const REGION: &str = "cn-beijing";
/// How far the clock of a request may be off.
const MAX_SKEW_MS: u64 = 15 * 60 * 1000;
/// The headers that must be signed.
const SIGNED: [&str; 3] = ["host", "x-content-sha256", "x-date"];

/// A request as it arrived.
pub(crate) struct Arrived<'a> {
    pub(crate) method: &'a Method,
    pub(crate) uri: &'a Uri,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
}

/// The account whose access key signed the request.
pub(crate) fn account(request: &Arrived<'_>, keys: &[String], now: u64) -> Result<usize, ControlError> {
    let header = |name: &str| request.headers.get(name).and_then(|value| value.to_str().ok());
    let missing = || ControlError::new(401, "MissingAuthenticationToken", "The request is not signed.");
    let fields =
        header("authorization").and_then(|text| text.strip_prefix("HMAC-SHA256 ")).ok_or_else(missing)?;
    let field = |name: &str| {
        fields.split(", ").find_map(|field| field.strip_prefix(name)?.strip_prefix('=')).ok_or_else(missing)
    };
    let (credential, names, signature) = (field("Credential")?, field("SignedHeaders")?, field("Signature")?);
    let (key_id, scope) = credential.split_once('/').ok_or_else(missing)?;
    let known = keys.iter().position(|key| key_id.strip_prefix("AK") == Some(key));
    let account =
        known.ok_or_else(|| ControlError::new(401, "InvalidAccessKey", "The access key is unknown."))?;
    let date = header("x-date").ok_or_else(missing)?;
    if milliseconds(date).is_none_or(|at| at.abs_diff(now) > MAX_SKEW_MS) {
        return Err(ControlError::new(400, "InvalidTimestamp", "The time of the request is too far off."));
    }
    if scope != format!("{}/{REGION}/{SERVICE}/request", &date[..8]) {
        return Err(ControlError::new(400, "InvalidCredential", "The scope of the credential is wrong."));
    }
    let mismatch = |message: &str| ControlError::new(403, "SignatureDoesNotMatch", message);
    let digest = format!("{:x}", Sha256::digest(request.body));
    if header("x-content-sha256") != Some(&digest) {
        return Err(mismatch("The digest is not that of the body."));
    }
    let signed: Vec<&str> = names.split(';').collect();
    if !signed.is_sorted() || !SIGNED.iter().all(|name| signed.contains(name)) {
        return Err(mismatch("The signed headers are not enough, or not in order."));
    }
    let mut canonical = format!("{}\n{}\n{}\n", request.method, request.uri.path(), query(request.uri));
    for name in &signed {
        let value = header(name).ok_or_else(|| mismatch("A signed header is missing."))?;
        canonical += &format!("{name}:{}\n", value.trim());
    }
    canonical += &format!("\n{names}\n{digest}");
    let text = format!("HMAC-SHA256\n{date}\n{scope}\n{:x}", Sha256::digest(&canonical));
    let key = [&date[..8], REGION, SERVICE, "request"]
        .iter()
        .fold(keys[account].as_bytes().to_vec(), |key, part| {
            mac(&key, part).finalize().into_bytes().to_vec()
        });
    let expected = format!("{:x}", mac(&key, &text).finalize().into_bytes());
    if expected == signature {
        Ok(account)
    } else {
        Err(mismatch("The signature is not that of the request."))
    }
}

fn mac(key: &[u8], text: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(text.as_bytes());
    mac
}

/// Names and values, sorted. The actions of this service need no escapes.
fn query(uri: &Uri) -> String {
    let mut pairs: Vec<_> = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// `20260102T030405Z` as milliseconds since the Unix epoch.
fn milliseconds(text: &str) -> Option<u64> {
    let part = |range: std::ops::Range<usize>| text.get(range);
    let (day, time) = (part(0..8)?, part(9..15)?);
    let (year, month, date) = (day.get(0..4)?, day.get(4..6)?, day.get(6..8)?);
    let (hour, minute, second) = (time.get(0..2)?, time.get(2..4)?, time.get(4..6)?);
    let iso = format!("{year}-{month}-{date}T{hour}:{minute}:{second}Z");
    let moment = humantime::parse_rfc3339(&iso).ok()?;
    let since = moment.duration_since(std::time::UNIX_EPOCH).ok()?;
    (text.len() == 16 && text.ends_with('Z')).then(|| u64::try_from(since.as_millis()).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = "20260101T000000Z";
    const AT_MS: u64 = 1_767_225_600_000;
    const BODY: &[u8] = b"{\"Id\":\"asset-1\"}";

    /// Computed by another tool (Python's hmac and hashlib) from the documented steps.
    const SIGNATURE: &str = "62600f085e1766f1c2a253a340331e2bd163288b81e70b32e61ef4dbd88d606e";

    fn headers(signature: &str) -> HeaderMap {
        let authorization = format!(
            "HMAC-SHA256 Credential=AKsandbox-key/20260101/cn-beijing/ark/request, \
             SignedHeaders=content-type;host;x-content-sha256;x-date, Signature={signature}"
        );
        let digest = format!("{:x}", Sha256::digest(BODY));
        let list = [
            ("host", "ark.cn-beijing.volcengineapi.com"),
            ("content-type", "application/json"),
            ("x-date", AT),
            ("x-content-sha256", &digest),
            ("authorization", &authorization),
        ];
        list.into_iter()
            .map(|(name, value)| {
                (name.parse::<http::HeaderName>().expect("a name"), value.parse().expect("a value"))
            })
            .collect()
    }

    fn check(query: &str, body: &[u8], headers: &HeaderMap, now: u64) -> Result<usize, &'static str> {
        let uri: Uri = format!("/?{query}").parse().expect("a target");
        let request = Arrived { method: &Method::POST, uri: &uri, headers, body };
        let keys = ["other-key".to_owned(), "sandbox-key".to_owned()];
        account(&request, &keys, now).map_err(|error| error.code)
    }

    #[test]
    fn a_signature_made_elsewhere_is_right() {
        let (good, actions) = (headers(SIGNATURE), "Action=GetAsset&Version=2024-01-01");
        assert_eq!(check(actions, BODY, &good, AT_MS), Ok(1));
        assert_eq!(check("Version=2024-01-01&Action=GetAsset", BODY, &good, AT_MS), Ok(1));
        assert_eq!(check(actions, BODY, &good, AT_MS + MAX_SKEW_MS), Ok(1));
        for (query, body, headers, now, code) in [
            ("Action=DeleteAsset&Version=2024-01-01", BODY, &good, AT_MS, "SignatureDoesNotMatch"),
            (actions, &b"{}"[..], &good, AT_MS, "SignatureDoesNotMatch"),
            (actions, BODY, &good, AT_MS + MAX_SKEW_MS + 1, "InvalidTimestamp"),
            (actions, BODY, &headers(&SIGNATURE.replace('a', "b")), AT_MS, "SignatureDoesNotMatch"),
        ] {
            assert_eq!(check(query, body, headers, now), Err(code), "{query}");
        }
        let mut unsigned = good.clone();
        unsigned.remove("authorization");
        assert_eq!(check(actions, BODY, &unsigned, AT_MS), Err("MissingAuthenticationToken"));
        let mut bearer = good.clone();
        bearer.insert("authorization", "Bearer sandbox-key".parse().expect("a value"));
        assert_eq!(check(actions, BODY, &bearer, AT_MS), Err("MissingAuthenticationToken"));
        let mut unknown = good;
        let text = unknown["authorization"].to_str().expect("text").replace("AKsandbox-key", "AKforeign-key");
        unknown.insert("authorization", text.parse().expect("a value"));
        assert_eq!(check(actions, BODY, &unknown, AT_MS), Err("InvalidAccessKey"));
    }
}
