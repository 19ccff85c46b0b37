//! Where the text of a credential goes on a request: its configured location, and nowhere else.

use gatehouse_model::Secret;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

/// The location of a provider's credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// `Authorization: Bearer <text>`.
    Bearer,
    /// A header of this name.
    Header(HeaderName),
    /// A query parameter of this name.
    Query(String),
}

impl Location {
    /// Puts the text where it belongs. Returns `false`, changing nothing, when the location is taken already or the
    /// text cannot stand there.
    pub(crate) fn apply(&self, text: &Secret<String>, url: &mut Url, headers: &mut HeaderMap) -> bool {
        match self {
            Self::Bearer => insert(headers, &AUTHORIZATION, &format!("Bearer {}", text.expose())),
            Self::Header(name) => insert(headers, name, text.expose()),
            Self::Query(name) => {
                if url.query_pairs().any(|(key, _)| key == name.as_str()) {
                    return false;
                }
                url.query_pairs_mut().append_pair(name, text.expose());
                true
            }
        }
    }
}

/// Puts a header that is there no second time. Returns `false`, changing nothing, when it cannot.
pub(crate) fn insert(headers: &mut HeaderMap, name: &HeaderName, value: &str) -> bool {
    let Ok(mut value) = HeaderValue::from_str(value) else { return false };
    if headers.contains_key(name) {
        return false;
    }
    // Keeps it out of HPACK tables and of anything that prints headers.
    value.set_sensitive(true);
    headers.insert(name.clone(), value);
    true
}
