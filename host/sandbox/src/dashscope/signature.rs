//! Signs links and checks them, in the shape of the object store the real provider keeps files in.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::Mac;
use url::form_urlencoded;

use crate::common::server::parameter;
use crate::common::shared::SigningKey;

/// The query of a link to `path` that ends at `until` (milliseconds, told in whole seconds).
pub(crate) fn query(key: &SigningKey, path: &str, until: u64) -> String {
    let end = (until / 1000).to_string();
    let signature = STANDARD.encode(key.mac(&format!("{path}\n{end}")).finalize().into_bytes());
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("Expires", end.as_str()), ("OSSAccessKeyId", "simulated")])
        .append_pair("Signature", &signature)
        .finish()
}

/// Whether `query` opens `path` at `now`.
pub(crate) fn opens(key: &SigningKey, path: &str, query: &str, now: u64) -> bool {
    let (Some(end), Some(signature)) = (parameter(query, "Expires"), parameter(query, "Signature")) else {
        return false;
    };
    let Ok(signature) = STANDARD.decode(signature.as_bytes()) else { return false };
    let is_ours = key.mac(&format!("{path}\n{end}")).verify_slice(&signature).is_ok();
    is_ours && end.parse::<u64>().is_ok_and(|end| now / 1000 < end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_opens_its_own_path_until_its_end() {
        let key = SigningKey::new().expect("random");
        let signed = query(&key, "/a.mp4", 5_000);
        for (path, query, now, expected) in [
            ("/a.mp4", signed.clone(), 4_999, true),
            ("/a.mp4", signed.clone(), 5_000, false),
            ("/b.mp4", signed.clone(), 0, false),
            ("/a.mp4", signed.replace("Expires=5", "Expires=6"), 0, false),
            ("/a.mp4", signed.replace("Signature=", "Signature=A"), 0, false),
            ("/a.mp4", String::new(), 0, false),
            ("/a.mp4", query(&SigningKey::new().expect("random"), "/a.mp4", 5_000), 0, false),
        ] {
            assert_eq!(opens(&key, path, &query, now), expected, "{path}?{query} at {now}");
        }
    }
}
