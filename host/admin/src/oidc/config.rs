//! The `[admin.oidc]` table, and what is checked before anything is sent: the table itself, and the endpoints that the provider's
//! document names, each by the rule of the issuer. Pure.
//!
//! The document is the provider's word. An endpoint in it that is not over TLS would have the client's secret, a code or the keys
//! cross the network in the open, where anybody may read or change them.

use std::collections::BTreeMap;

use gatehouse_model::SecretRef;
use openidconnect::core::CoreProviderMetadata;
use serde::Deserialize;
use url::{Host, Url};

use super::person::one_line;
use crate::access::Role;

/// Where the provider sends a browser back to.
pub(crate) const CALLBACK: &str = "/login/oidc/callback";

/// An identity provider whose users may log in to the console.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OidcConfig {
    /// The issuer, exactly as its documents name it.
    pub issuer: String,
    /// The gateway's id at the provider.
    pub client_id: String,
    /// The gateway's secret at the provider.
    pub client_secret: SecretRef,
    /// What browsers call the admin listener, such as `https://gatehouse.internal`; the provider knows it with
    /// `/login/oidc/callback` behind it.
    pub public_url: String,
    /// Scopes beside `openid`.
    #[serde(default = "scopes")]
    pub scopes: Vec<String>,
    /// The claim that names a person's groups; dots lead into objects (`realm_access.roles`).
    #[serde(default = "groups_claim")]
    pub groups_claim: String,
    /// The role of each group. A person in none of them is refused.
    pub roles: BTreeMap<String, Role>,
}

fn scopes() -> Vec<String> {
    ["profile", "email"].map(str::to_owned).to_vec()
}

fn groups_claim() -> String {
    "groups".to_owned()
}

impl OidcConfig {
    /// Checks the table.
    ///
    /// # Errors
    /// The key below `admin`, and what was expected.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        let issuer = address(&self.issuer).map_err(|why| ("oidc.issuer", why))?;
        if issuer.query().is_some() {
            return Err(("oidc.issuer", format!("expected no query in it, got {:?}", self.issuer)));
        }
        let own = address(&self.public_url).map_err(|why| ("oidc.public_url", why))?;
        if own.path() != "/" || own.query().is_some() {
            let why =
                format!("expected no path behind the host, got {:?}: pages begin at /", self.public_url);
            return Err(("oidc.public_url", why));
        }
        for (key, text) in [("oidc.client_id", &self.client_id), ("oidc.groups_claim", &self.groups_claim)] {
            if text.is_empty() {
                return Err((key, "expected a name, got an empty one".to_owned()));
            }
        }
        let is_scope =
            |scope: &String| !scope.is_empty() && scope.bytes().all(|byte| byte.is_ascii_graphic());
        if let Some(wrong) = self.scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(("oidc.scopes", format!("expected words without spaces, got {wrong:?}")));
        }
        if self.roles.is_empty() {
            let why = "expected at least one group, such as { platform = \"operator\" }: without one nobody can log in";
            return Err(("oidc.roles", why.to_owned()));
        }
        Ok(())
    }

    /// The host by which browsers ask for the admin listener, as `[admin].hosts` names hosts.
    pub(crate) fn host(&self) -> Option<String> {
        address(&self.public_url).ok()?.host_str().map(str::to_owned)
    }

    /// Where the provider sends a browser back to.
    pub(super) fn callback(&self) -> String {
        format!("{}{CALLBACK}", self.public_url.trim_end_matches('/'))
    }
}

/// An address over TLS, or of this machine: codes and tokens are sent to it.
pub(super) fn address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("expected a URL, got {text:?}: {error}"))?;
    let is_local = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    };
    if !(url.scheme() == "https" || url.scheme() == "http" && is_local) {
        return Err(format!("expected https, or http on this machine, got {text:?}"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err("expected no user name, no password and no fragment in it".to_owned());
    }
    Ok(url)
}

#[cfg(test)]
pub(super) fn sample() -> OidcConfig {
    OidcConfig {
        issuer: "https://id.example/realms/ops".to_owned(),
        client_id: "gatehouse".to_owned(),
        client_secret: SecretRef::Env("OIDC_SECRET".to_owned()),
        public_url: "https://gate.example/".to_owned(),
        scopes: scopes(),
        groups_claim: groups_claim(),
        roles: BTreeMap::from([
            ("platform".to_owned(), Role::Operator),
            ("support".to_owned(), Role::Viewer),
        ]),
    }
}

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
pub(super) fn check_address(url: &Url) -> Result<(), String> {
    address(url.as_str()).map(drop).map_err(|why| one_line(&why))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Without it the first login tells what a start could have told.
    #[test]
    fn what_cannot_be_used_is_named() {
        let check = |change: &dyn Fn(&mut OidcConfig)| {
            let mut config = sample();
            change(&mut config);
            config.check().map_err(|(key, _)| key)
        };
        assert_eq!(check(&|_| {}), Ok(()));
        for issuer in
            ["id.example", "http://id.example", "https://u:p@id.example", "https://id.example?x", "ftp://x"]
        {
            assert_eq!(check(&|config| config.issuer = issuer.to_owned()), Err("oidc.issuer"), "{issuer}");
        }
        for own in
            ["http://127.0.0.1:9", "http://[::1]:9", "http://gatehouse.localhost:9", "https://gate.example"]
        {
            assert_eq!(check(&|config| config.public_url = own.to_owned()), Ok(()), "{own}");
        }
        for own in ["http://gate.example", "https://gate.example/console", "https://gate.example/#x"] {
            assert_eq!(check(&|config| config.public_url = own.to_owned()), Err("oidc.public_url"), "{own}");
        }
        assert_eq!(check(&|config| config.client_id.clear()), Err("oidc.client_id"));
        assert_eq!(check(&|config| config.groups_claim.clear()), Err("oidc.groups_claim"));
        assert_eq!(check(&|config| config.scopes = vec!["a b".to_owned()]), Err("oidc.scopes"));
        assert_eq!(check(&|config| config.roles.clear()), Err("oidc.roles"));
    }

    #[test]
    fn the_callback_is_below_the_public_address() {
        assert_eq!(sample().callback(), "https://gate.example/login/oidc/callback");
        assert_eq!(sample().host().as_deref(), Some("gate.example"));
    }

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
