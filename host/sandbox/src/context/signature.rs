//! Signs delivery links and checks them, in the shape of the blob store the real provider keeps files in.
//!
//! `se` is the end of a link's life; the signature binds path and end. The other parameters are those of real links.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::Mac;
use url::form_urlencoded;

use crate::common::clock::iso;
use crate::common::server::parameter;
use crate::common::shared::SigningKey;

/// Why a link is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkError {
    /// `se`, as the link says it.
    Expired(String),
    /// No signature, or one that does not fit.
    Forged,
}

/// The query of a link to `path` that ends at `until` (milliseconds, told in whole seconds).
pub(crate) fn query(key: &SigningKey, path: &str, until: u64, mime: &str) -> String {
    let end = iso(until);
    let signature = STANDARD.encode(key.mac(&format!("{path}\n{end}")).finalize().into_bytes());
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("se", end.as_str()), ("sp", "r"), ("sv", "2024-11-04"), ("sr", "b")])
        .extend_pairs([("rsct", mime), ("sig", signature.as_str())])
        .finish()
}

/// Whether `query` opens `path` at `now`.
pub(crate) fn check(key: &SigningKey, path: &str, query: &str, now: u64) -> Result<(), LinkError> {
    let value = |name: &str| parameter(query, name).ok_or(LinkError::Forged);
    let (end, signature) = (value("se")?, value("sig")?);
    let signature = STANDARD.decode(signature.as_bytes()).map_err(|_| LinkError::Forged)?;
    key.mac(&format!("{path}\n{end}")).verify_slice(&signature).map_err(|_| LinkError::Forged)?;
    // Our own signature vouches for the form of `se`, and in that form text order is time order.
    if iso(now).as_str() >= &*end { Err(LinkError::Expired(end.into_owned())) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNTIL: u64 = 1_767_225_600_000;

    #[test]
    fn links_expire_at_their_end() {
        let key = SigningKey::new().expect("random");
        let signed = query(&key, "/a.png", UNTIL, "image/png");
        let end = || LinkError::Expired("2026-01-01T00:00:00Z".to_owned());
        for (now, expected) in
            [(0, Ok(())), (UNTIL - 1, Ok(())), (UNTIL, Err(end())), (UNTIL + 600_000, Err(end()))]
        {
            assert_eq!(check(&key, "/a.png", &signed, now), expected, "{now}");
        }
    }

    #[test]
    fn changed_links_are_refused() {
        let key = SigningKey::new().expect("random");
        let signed = query(&key, "/a.png", UNTIL, "image/png");
        let later = signed.replace("2026-01-01", "2027-01-01");
        let unsigned = signed.split("&sig=").next().expect("first").to_owned();
        let endless = signed.split_once('&').expect("several").1.to_owned();
        for (path, query) in [
            ("/b.png", signed.clone()),
            ("/a.png", later),
            ("/a.png", unsigned),
            ("/a.png", endless),
            ("/a.png", format!("{signed}A")),
            ("/a.png", String::new()),
            ("/a.png", query(&SigningKey::new().expect("random"), "/a.png", UNTIL, "image/png")),
        ] {
            assert_eq!(check(&key, path, &query, 0), Err(LinkError::Forged), "{path}?{query}");
        }
    }
}
