//! Where an account's secret goes on a request: its configured slot, and nowhere else.

use std::fmt;

use gatehouse_model::Secret;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use url::Url;

/// The slot of a provider's credential.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer <secret>`.
    #[default]
    Bearer,
    /// A header of this name holds the bare secret.
    Header(String),
    /// A query parameter of this name holds it.
    Query(String),
    /// The provider wants none.
    None,
}

impl Auth {
    /// Puts the secret where it belongs. Returns `false`, changing nothing, when the slot is taken
    /// already or the secret cannot stand there.
    pub(crate) fn apply(&self, secret: &Secret<String>, url: &mut Url, headers: &mut HeaderMap) -> bool {
        match self {
            Self::None => true,
            Self::Bearer => insert(headers, &AUTHORIZATION, &format!("Bearer {}", secret.expose())),
            Self::Header(name) => match HeaderName::try_from(name.as_str()) {
                Ok(name) => insert(headers, &name, secret.expose()),
                Err(_) => false,
            },
            Self::Query(name) => {
                if url.query_pairs().any(|(key, _)| key == name.as_str()) {
                    return false;
                }
                url.query_pairs_mut().append_pair(name, secret.expose());
                true
            }
        }
    }
}

fn insert(headers: &mut HeaderMap, name: &HeaderName, value: &str) -> bool {
    let Ok(mut value) = HeaderValue::from_str(value) else { return false };
    if headers.contains_key(name) {
        return false;
    }
    // Keeps it out of HPACK tables and of anything that prints headers.
    value.set_sensitive(true);
    headers.insert(name.clone(), value);
    true
}

impl<'de> Deserialize<'de> for Auth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AuthVisitor)
    }
}

struct AuthVisitor;

impl<'de> Visitor<'de> for AuthVisitor {
    type Value = Auth;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#""bearer", "none", { header = "<name>" } or { query = "<name>" }"#)
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Auth, E> {
        match word {
            "bearer" => Ok(Auth::Bearer),
            "none" => Ok(Auth::None),
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
            "bearer" if map.next_value::<bool>()? => Auth::Bearer,
            "bearer" => return Err(A::Error::custom("bearer = false says nothing, write auth = \"none\"")),
            other => return Err(A::Error::unknown_field(other, &["bearer", "header", "query"])),
        };
        match map.next_key::<String>()? {
            None => Ok(auth),
            Some(_) => Err(A::Error::custom("a credential has one slot: name one of bearer, header, query")),
        }
    }
}
