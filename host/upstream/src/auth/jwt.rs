//! JSON Web Tokens (RFC 7519) in compact form, signed with HS256 or RS256 (RFC 7518). Pure but for the blinding of RSA,
//! which takes its randomness from the operating system: no output depends on it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_model::{Secret, UnixMs};
use ring::hmac::{self, HMAC_SHA256};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

/// How far a token's validity begins in the past, for a provider whose clock is behind.
const BEFORE_S: u64 = 5;

/// The token that an access key and its secret stand for: issued by the key, valid from a moment ago.
pub(crate) fn of_access_key(
    key_id: &Secret<String>,
    secret: &Secret<String>,
    lifetime_s: u64,
    now: UnixMs,
) -> Secret<String> {
    let seconds = now.seconds();
    let claims = json!({
        "iss": key_id.expose(),
        "exp": seconds.saturating_add(lifetime_s),
        "nbf": seconds.saturating_sub(BEFORE_S),
    });
    let content = content(&json!({"alg": "HS256", "typ": "JWT"}), &claims);
    let key = hmac::Key::new(HMAC_SHA256, secret.expose().as_bytes());
    compact(&content, hmac::sign(&key, content.as_bytes()).as_ref())
}

/// A token with these claims, signed by an RSA key; `None` when the key cannot sign.
pub(crate) fn by_rsa(key: &RsaKeyPair, key_id: Option<&str>, claims: &Value) -> Option<Secret<String>> {
    let mut header = json!({"alg": "RS256", "typ": "JWT"});
    if let Some(id) = key_id {
        header["kid"] = id.into();
    }
    let content = content(&header, claims);
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), content.as_bytes(), &mut signature).ok()?;
    Some(compact(&content, &signature))
}

/// The signature alone: with the claims, which can be guessed, it is the whole token.
pub(crate) fn signature_of(token: &Secret<String>) -> Secret<String> {
    Secret::new(token.expose().rsplit('.').next().unwrap_or_default().to_owned())
}

fn content(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

fn compact(content: &str, signature: &[u8]) -> Secret<String> {
    Secret::new(format!("{content}.{}", URL_SAFE_NO_PAD.encode(signature)))
}
