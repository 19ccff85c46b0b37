//! How a registry says what it wants to know of its user: the `WWW-Authenticate` header, and the answer to it. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_model::Secret;
use http::HeaderValue;
use serde::Deserialize;
use url::Url;

use crate::auth::credential::sensitive;

/// A user of a registry.
#[derive(Clone, Debug)]
pub struct Login {
    /// The name.
    pub user: String,
    /// The password, or a token.
    pub password: Secret<String>,
}

impl Login {
    /// What HTTP sends of it.
    pub(crate) fn basic(&self) -> Option<HeaderValue> {
        let text = STANDARD.encode(format!("{}:{}", self.user, self.password.expose()));
        sensitive(&format!("Basic {text}"))
    }
}

/// What a registry wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// Name and password with every request.
    Basic,
    /// A token of this address.
    Bearer(Url),
}

/// What a token endpoint answers.
#[derive(Deserialize)]
pub(crate) struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Token {
    /// The header with it.
    pub(crate) fn header(self) -> Option<HeaderValue> {
        sensitive(&format!("Bearer {}", self.token.or(self.access_token)?))
    }
}

impl Challenge {
    /// Reads the header; `scope` is what is asked for where the registry does not say.
    pub(crate) fn parse(header: &str, scope: &str) -> Option<Self> {
        let (scheme, rest) = header.split_once(' ').unwrap_or((header, ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let parameter = |name: &str| {
            let (_, after) = rest.split_once(&format!("{name}=\""))?;
            after.split_once('"').map(|(value, _)| value)
        };
        let mut url = Url::parse(parameter("realm")?).ok()?;
        {
            let mut query = url.query_pairs_mut();
            if let Some(service) = parameter("service") {
                query.append_pair("service", service);
            }
            query.append_pair("scope", parameter("scope").unwrap_or(scope));
        }
        Some(Self::Bearer(url))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_read() {
        let bearer = |url: &str| Some(Challenge::Bearer(url.parse().unwrap()));
        for (header, expected) in [
            ("Basic realm=\"x\"", Some(Challenge::Basic)),
            (
                "Bearer realm=\"https://auth.example/token\",service=\"registry\",scope=\"repository:a:pull,push\"",
                bearer("https://auth.example/token?service=registry&scope=repository%3Aa%3Apull%2Cpush"),
            ),
            ("bearer realm=\"https://auth.example/t\"", bearer("https://auth.example/t?scope=mine")),
            ("Bearer service=\"x\"", None),
            ("Digest realm=\"x\"", None),
            ("", None),
        ] {
            assert_eq!(Challenge::parse(header, "mine"), expected, "{header}");
        }
    }

    #[test]
    fn a_password_is_in_no_log() {
        let login = Login { user: "me".to_owned(), password: Secret::new("hunter2".to_owned()) };
        let header = login.basic().unwrap();
        assert_eq!(header, "Basic bWU6aHVudGVyMg==");
        assert!(!format!("{login:?} {header:?}").contains("hunter2"));
        let token = Token { token: None, access_token: Some("t".to_owned()) };
        assert_eq!(token.header().unwrap(), "Bearer t");
    }
}
