//! The tokens of service accounts: a signed assertion becomes a token for an hour (RFC 7523).

use std::collections::HashMap;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::HeaderMap;
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde::Deserialize;
use serde_json::Value;

use crate::common::server::bearer;

/// The key files of the simulated service accounts, as an operator would download them.
pub const KEY_FILES: [&str; 2] = [include_str!("keys/first.json"), include_str!("keys/second.json")];
/// Google's token endpoint: what its own libraries claim as audience, wherever they send the assertion.
const GOOGLE: &str = "https://oauth2.googleapis.com/token";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// The longest assertion, and the life of a token.
pub(super) const HOUR_S: u64 = 3600;
/// Clocks differ by this much.
const SKEW_S: u64 = 60;

/// The accounts and their tokens.
#[derive(Default)]
pub(crate) struct Tokens {
    /// E-mail and public key of each account.
    accounts: Vec<(String, UnparsedPublicKey<Vec<u8>>)>,
    issued: HashMap<String, Token>,
}

#[derive(Clone, Copy)]
struct Token {
    account: usize,
    expires_at: u64,
}

#[derive(Deserialize)]
struct KeyFile {
    client_email: String,
    private_key: String,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    scope: String,
    iat: u64,
    exp: u64,
}

impl Tokens {
    pub(super) fn new() -> io::Result<Self> {
        let accounts = KEY_FILES.iter().map(|text| account(text)).collect::<Option<_>>();
        let accounts = accounts.ok_or_else(|| io::Error::other("a key file of the sandbox is damaged"))?;
        Ok(Self { accounts, issued: HashMap::new() })
    }

    /// The account of a request's bearer token.
    pub(super) fn account(&self, headers: &HeaderMap, now: u64) -> Option<usize> {
        self.issued.get(bearer(headers)?).filter(|token| now < token.expires_at).map(|token| token.account)
    }

    /// A token for an assertion; otherwise what is wrong with it. Its audience is this endpoint, or Google's.
    pub(super) fn issue(
        &mut self,
        assertion: &str,
        audience: &str,
        now: u64,
    ) -> Result<String, &'static str> {
        let (content, signature) = assertion.rsplit_once('.').ok_or("no compact JWT")?;
        let (header, claims) = content.split_once('.').ok_or("no compact JWT")?;
        let header: Value = part(header).ok_or("the header is unreadable")?;
        if header["alg"] != "RS256" {
            return Err("the algorithm is not RS256");
        }
        let claims: Claims = part(claims).ok_or("the claims are unreadable")?;
        let account = self.accounts.iter().position(|(email, _)| *email == claims.iss);
        let account = account.ok_or("the issuer is unknown")?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| "the signature is unreadable")?;
        let key = &self.accounts[account].1;
        key.verify(content.as_bytes(), &signature).map_err(|_| "the signature is wrong")?;
        let seconds = now / 1000;
        if ![audience, GOOGLE].contains(&claims.aud.as_str()) {
            return Err("the audience is another");
        }
        if !claims.scope.split(' ').any(|scope| scope == SCOPE) {
            return Err("the scope is missing");
        }
        if claims.iat > seconds + SKEW_S || claims.exp <= seconds || claims.exp > claims.iat + HOUR_S {
            return Err("the times are not acceptable");
        }
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).map_err(|_| "no random bytes")?;
        let text = format!("ya29.{}", URL_SAFE_NO_PAD.encode(bytes));
        let token = Token { account, expires_at: now + HOUR_S * 1000 };
        self.issued.insert(text.clone(), token);
        Ok(text)
    }

    pub(super) fn count(&self) -> u64 {
        self.issued.len() as u64
    }
}

/// A part of a JWT.
fn part<T: for<'a> Deserialize<'a>>(text: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}

fn account(key_file: &str) -> Option<(String, UnparsedPublicKey<Vec<u8>>)> {
    let file: KeyFile = serde_json::from_str(key_file).ok()?;
    let key = private_key(&file.private_key)?;
    let public = key.public_key().as_ref().to_vec();
    Some((file.client_email, UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public)))
}

/// The key in a PEM text (PKCS #8).
fn private_key(pem: &str) -> Option<RsaKeyPair> {
    let lines: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    RsaKeyPair::from_pkcs8(&STANDARD.decode(lines).ok()?).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::RSA_PKCS1_SHA256;
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_767_225_600_000;
    const AUDIENCE: &str = "http://127.0.0.1:1/token";

    /// An assertion of the first account with these claims over the right ones.
    fn assertion(alg: &str, more: &Value) -> String {
        assertion_of(0, AUDIENCE, NOW, (alg, more))
    }

    /// An assertion of that account, with the algorithm in its header and more claims.
    pub(crate) fn assertion_of(
        account: usize,
        audience: &str,
        now: u64,
        (alg, more): (&str, &Value),
    ) -> String {
        let file: KeyFile = serde_json::from_str(KEY_FILES[account]).expect("a key file");
        let key = private_key(&file.private_key).expect("a key");
        let seconds = now / 1000;
        let mut claims = json!({"iss": file.client_email, "aud": audience, "scope": SCOPE, "iat": seconds, "exp": seconds + HOUR_S});
        for (name, value) in more.as_object().expect("an object") {
            claims[name] = value.clone();
        }
        let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let content = format!("{}.{}", encoded(&json!({"alg": alg, "typ": "JWT"})), encoded(&claims));
        let mut signature = vec![0; key.public().modulus_len()];
        key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), content.as_bytes(), &mut signature).expect("signs");
        format!("{content}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    #[test]
    fn a_signed_assertion_becomes_a_token_for_an_hour() {
        let mut tokens = Tokens::new().expect("key files");
        let token = tokens.issue(&assertion("RS256", &json!({})), AUDIENCE, NOW).expect("a token");
        let mut headers = HeaderMap::new();
        headers.insert("authorization", format!("Bearer {token}").parse().expect("ascii"));
        assert_eq!(tokens.account(&headers, NOW), Some(0));
        assert_eq!(tokens.account(&headers, NOW + HOUR_S * 1000), None);
        let by_google = assertion("RS256", &json!({"aud": GOOGLE}));
        assert!(tokens.issue(&by_google, AUDIENCE, NOW).is_ok(), "as Google's libraries claim");
        let seconds = NOW / 1000;
        for (alg, claims, problem) in [
            ("HS256", json!({}), "the algorithm is not RS256"),
            ("RS256", json!({"iss": "nobody"}), "the issuer is unknown"),
            ("RS256", json!({"aud": "https://oauth2.example/token"}), "the audience is another"),
            ("RS256", json!({"scope": "email"}), "the scope is missing"),
            ("RS256", json!({"exp": seconds}), "the times are not acceptable"),
            ("RS256", json!({"exp": seconds + HOUR_S + 1}), "the times are not acceptable"),
            ("RS256", json!({"iat": seconds + 61}), "the times are not acceptable"),
        ] {
            assert_eq!(tokens.issue(&assertion(alg, &claims), AUDIENCE, NOW), Err(problem), "{claims}");
        }
        let forged = assertion("RS256", &json!({}));
        let (content, _) = forged.rsplit_once('.').expect("three parts");
        let forged = format!("{content}.{}", URL_SAFE_NO_PAD.encode([7; 256]));
        assert_eq!(tokens.issue(&forged, AUDIENCE, NOW), Err("the signature is wrong"));
        assert_eq!(tokens.count(), 2);
    }
}
