//! The ways an account can authenticate, as an operator writes them: `auth = ...` of a provider or of one account.
//!
//! Owns their shape and defaults. Holds no secret, so all of it may be printed.

use std::fmt;

use gatehouse_model::settings;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// What a request of an account carries as its credential.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer <secret>`.
    #[default]
    Bearer,
    /// A header of this name holds the bare secret.
    Header(String),
    /// A query parameter of this name holds it.
    Query(String),
    /// `Authorization: Bearer <token>`, where the token is a JWT made for each call from key id and secret.
    Jwt(JwtAuth),
    /// A signature of each request by key id and secret.
    Hmac(HmacAuth),
    /// `Authorization: Bearer <token>`, where the token comes from an OAuth 2 token endpoint.
    ServiceAccount(ServiceAccountAuth),
    /// The provider wants none.
    None,
}

settings! {
    /// A JWT (RFC 7519) signed with HS256: `iss` is the key id, `nbf` five seconds ago, `exp` as far ahead as configured.
    #[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct JwtAuth {
        /// Seconds for which one token is valid.
        pub lifetime_s: u64 = 1800,
    }
}

/// A signature over a canonical form of the request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HmacAuth {
    /// Which constants the provider uses.
    pub form: HmacForm,
    /// The region in the credential's scope, e.g. `cn-beijing`.
    pub region: String,
    /// The service in the credential's scope, e.g. `ark`.
    pub service: String,
    /// Headers that are signed besides the host, the content type, the time and the body's digest.
    #[serde(default)]
    pub headers: Vec<String>,
}

/// The dialects of the canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HmacForm {
    /// Volcengine and BytePlus: `HMAC-SHA256`, `X-Date`, `X-Content-Sha256`.
    Volcengine,
    /// AWS Signature Version 4: `AWS4-HMAC-SHA256`, `X-Amz-Date`, `X-Amz-Content-Sha256`.
    Aws4,
}

settings! {
    /// A service account with an RSA key: the JWT bearer grant of RFC 7523.
    #[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct ServiceAccountAuth {
        /// The scopes asked for, separated by spaces.
        pub scope: String = CLOUD_PLATFORM.to_owned(),
        /// The token endpoint, when it is another than Google's. May be private, since the operator wrote it out.
        pub token_url: Option<String> = None,
        /// Whom the account acts for (`sub`), where it may act for others.
        pub subject: Option<String> = None,
    }
}

/// The token endpoint of Google's service accounts.
pub(crate) const GOOGLE_TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
/// The scope of Google's model APIs.
const CLOUD_PLATFORM: &str = "https://www.googleapis.com/auth/cloud-platform";

impl<'de> Deserialize<'de> for Auth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AuthVisitor)
    }
}

/// The keys of the table form.
const KNOWN: &[&str] = &["bearer", "header", "hmac", "jwt", "query", "service_account"];

struct AuthVisitor;

impl<'de> Visitor<'de> for AuthVisitor {
    type Value = Auth;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            r#""bearer", "jwt", "service_account", "none", { header = "<name>" }, { query = "<name>" } or { hmac = { ... } }"#,
        )
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Auth, E> {
        match word {
            "bearer" => Ok(Auth::Bearer),
            "jwt" => Ok(Auth::Jwt(JwtAuth::default())),
            "none" => Ok(Auth::None),
            "service_account" => Ok(Auth::ServiceAccount(ServiceAccountAuth::default())),
            other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Auth, A::Error> {
        let Some(key) = map.next_key::<String>()? else {
            return Err(A::Error::invalid_length(0, &self));
        };
        let auth = match key.as_str() {
            "header" => Auth::Header(map.next_value()?),
            "query" => Auth::Query(map.next_value()?),
            "hmac" => Auth::Hmac(map.next_value()?),
            "jwt" => Auth::Jwt(map.next_value()?),
            "service_account" => Auth::ServiceAccount(map.next_value()?),
            "bearer" if map.next_value::<bool>()? => Auth::Bearer,
            "bearer" => return Err(A::Error::custom("bearer = false says nothing, write auth = \"none\"")),
            other => return Err(A::Error::unknown_field(other, KNOWN)),
        };
        match map.next_key::<String>()? {
            None => Ok(auth),
            Some(_) => Err(A::Error::custom(format!(
                "an account authenticates in one way: name one of {}",
                KNOWN.join(", ")
            ))),
        }
    }
}
