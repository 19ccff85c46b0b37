//! The endpoints that a provider's document names: each is held to the rule of the issuer. Pure.
//!
//! The document is the provider's word. An endpoint in it that is not over TLS would have the client's secret, a code or the keys
//! cross the network in the open, where anybody may read or change them.

use openidconnect::core::CoreProviderMetadata;
use url::Url;

use super::config::address;
use super::person::one_line;

/// Checks every endpoint that a login has to do with, also the one that only the browser is sent to.
///
/// # Errors
/// The first that does not count: its name, what was expected and what came.
pub(super) fn check(document: &CoreProviderMetadata) -> Result<(), String> {
    let endpoints = [
        ("authorization_endpoint", Some(document.authorization_endpoint().url())),
        ("token_endpoint", document.token_endpoint().map(|endpoint| endpoint.url())),
        ("userinfo_endpoint", document.userinfo_endpoint().map(|endpoint| endpoint.url())),
        ("jwks_uri", Some(document.jwks_uri().url())),
    ];
    endpoints
        .into_iter()
        .filter_map(|(name, url)| Some((name, url?)))
        .try_for_each(|(name, url)| check_address(url).map_err(|why| format!("its document's {name}: {why}")))
}

/// Checks the address of one request.
///
/// # Errors
/// What was expected and what came.
pub(super) fn check_address(url: &Url) -> Result<(), String> {
    address(url.as_str()).map(drop).map_err(|why| one_line(&why))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Without it a document makes the gateway send its secret in the open, or take keys that anybody changed on the way.
    #[test]
    fn every_endpoint_is_over_tls_or_on_this_machine() {
        let document = |changed: &str, url: &str| {
            let mut document = json!({
                "issuer": "https://id.example",
                "authorization_endpoint": "https://id.example/authorize",
                "token_endpoint": "https://tokens.example/token",
                "userinfo_endpoint": "https://id.example/me",
                "jwks_uri": "https://keys.example/keys",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
            });
            document[changed] = json!(url);
            serde_json::from_value::<CoreProviderMetadata>(document).unwrap()
        };
        for name in ["authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"] {
            for (url, passes) in [
                ("https://id.example/other", true),
                ("http://127.0.0.1:9/x", true),
                ("http://id.example/x", false),
                ("http://10.0.0.1/x", false),
                ("https://u:p@id.example/x", false),
            ] {
                let checked = check(&document(name, url));
                assert_eq!(checked.is_ok(), passes, "{name} {url}");
                assert!(checked.err().is_none_or(|why| why.contains(name)), "{name} {url}");
            }
        }
    }
}
