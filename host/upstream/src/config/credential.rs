//! An account's credential from its configuration: the way it authenticates, its secrets resolved and read.
//!
//! Everything that would make a call fail later is refused here: a missing secret, a key file that is none, a token
//! endpoint that is not the expected one.

use gatehouse_model::{Secret, SecretRef};
use http::{HeaderName, HeaderValue};
use url::Url;

use crate::auth::canonical::Dialect;
use crate::auth::credential::{Credential, Kind, Location};
use crate::auth::key_file::ServiceAccountKey;
use crate::auth::scheme::{Auth, GOOGLE_TOKEN_URL, HmacAuth, ServiceAccountAuth};
use crate::auth::signing::SigningKey;
use crate::auth::token_cache::TokenCache;
use crate::auth::token_endpoint::Grant;
use crate::client::origin::{Origin, has_login, is_local};
use crate::config::settings::{AccountConfig, ConfigError, ProviderConfig, error};

/// Resolves a secret reference; the error says why not.
pub(crate) type Secrets<'a> = &'a dyn Fn(&SecretRef) -> Result<Secret<String>, String>;

/// One account's part of the configuration.
struct Source<'a> {
    provider: &'a str,
    account: &'a str,
    config: &'a AccountConfig,
    secrets: Secrets<'a>,
}

/// The credential of an account, and the origin of its token endpoint where the operator wrote it out.
pub(crate) fn check(
    provider: &str,
    account: &str,
    all: &ProviderConfig,
    own: &AccountConfig,
    secrets: Secrets<'_>,
) -> Result<(Credential, Option<Origin>), ConfigError> {
    let source = Source { provider, account, config: own, secrets };
    let (auth, at) = match &own.auth {
        Some(auth) => (auth, source.key("auth")),
        None => (&all.auth, format!("providers.{provider}.auth")),
    };
    if own.key_id.is_some() && !matches!(auth, Auth::Jwt(_) | Auth::Hmac(_)) {
        let problem = "only auth jwt and hmac have a key id; remove it, or set auth";
        return Err(error(source.key("key_id"), problem));
    }
    let kind = match auth {
        Auth::None => Kind::None,
        Auth::Bearer => Kind::Fixed(Location::Bearer, source.secret()?),
        Auth::Header(name) => {
            let name = header(name).map_err(|problem| error(at, problem))?;
            Kind::Fixed(Location::Header(name), source.secret()?)
        }
        Auth::Query(name) if name.is_empty() => {
            return Err(error(at, "expected the name of a query parameter, got an empty one"));
        }
        Auth::Query(name) => Kind::Fixed(Location::Query(name.clone()), source.secret()?),
        Auth::Jwt(jwt) if jwt.lifetime_s == 0 => {
            return Err(error(format!("{at}.jwt.lifetime_s"), "expected seconds above 0, got 0"));
        }
        Auth::Jwt(jwt) => {
            let lifetime_s = jwt.lifetime_s;
            Kind::Jwt { key_id: source.key_id()?, secret: source.secret()?, lifetime_s }
        }
        Auth::Hmac(hmac) => Kind::Hmac(source.signing_key(&format!("{at}.hmac"), hmac)?.into()),
        Auth::ServiceAccount(auth) => {
            let (kind, origin) = source.service_account(&format!("{at}.service_account"), auth)?;
            return Ok((Credential::new(kind), origin));
        }
    };
    Ok((Credential::new(kind), None))
}

impl Source<'_> {
    fn key(&self, field: &str) -> String {
        format!("providers.{}.accounts.{}.{field}", self.provider, self.account)
    }

    fn secret(&self) -> Result<Secret<String>, ConfigError> {
        self.sendable("secret", self.config.secret.as_ref())
    }

    fn key_id(&self) -> Result<Secret<String>, ConfigError> {
        self.sendable("key_id", self.config.key_id.as_ref())
    }

    /// A secret that can stand in a header.
    fn sendable(&self, field: &str, from: Option<&SecretRef>) -> Result<Secret<String>, ConfigError> {
        let secret = self.resolved(field, from)?;
        if HeaderValue::from_str(secret.expose()).is_err() {
            return Err(error(self.key(field), "the secret holds characters that cannot be sent"));
        }
        Ok(secret)
    }

    fn resolved(&self, field: &str, from: Option<&SecretRef>) -> Result<Secret<String>, ConfigError> {
        let wrong = |problem: String| error(self.key(field), problem);
        let nothing = || wrong("expected { env = \"NAME\" } or { file = \"path\" }, got nothing".to_owned());
        let found = (self.secrets)(from.ok_or_else(nothing)?).map_err(wrong)?;
        let text = found.expose().trim();
        if text.is_empty() {
            Err(wrong("the secret is empty".to_owned()))
        } else {
            Ok(Secret::new(text.to_owned()))
        }
    }

    fn signing_key(&self, at: &str, auth: &HmacAuth) -> Result<SigningKey, ConfigError> {
        for (field, text) in [("region", &auth.region), ("service", &auth.service)] {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if text.is_empty() || !text.chars().all(is_plain) {
                let problem = format!("expected letters, digits, - _ and ., got {text:?}");
                return Err(error(format!("{at}.{field}"), problem));
            }
        }
        let named = |(index, name): (usize, &String)| {
            header(name).map_err(|problem| error(format!("{at}.headers[{index}]"), problem))
        };
        Ok(SigningKey {
            dialect: Dialect::of(auth.form),
            key_id: self.key_id()?,
            secret: self.secret()?,
            region: auth.region.clone(),
            service: auth.service.clone(),
            headers: auth.headers.iter().enumerate().map(named).collect::<Result<_, _>>()?,
        })
    }

    fn service_account(
        &self,
        at: &str,
        auth: &ServiceAccountAuth,
    ) -> Result<(Kind, Option<Origin>), ConfigError> {
        let written = auth.token_url.as_deref();
        let (url, expected) = endpoint(written.unwrap_or(GOOGLE_TOKEN_URL))
            .map_err(|problem| error(format!("{at}.token_url"), problem))?;
        let wrong = |problem: String| error(self.key("secret"), problem);
        let text = self.resolved("secret", self.config.secret.as_ref())?;
        let key = ServiceAccountKey::parse(text.expose()).map_err(wrong)?;
        let endpoint = match &key.token_uri {
            None => url,
            Some(uri) => {
                let (own, origin) = endpoint(uri)
                    .map_err(|problem| wrong(format!("the `token_uri` of the key file: {problem}")))?;
                if origin != expected {
                    return Err(wrong(format!(
                        "the `token_uri` of the key file is at {origin}, expected {expected}; \
                         set token_url in {at} to the right one"
                    )));
                }
                own
            }
        };
        let (scope, subject) = (auth.scope.clone(), auth.subject.clone());
        let cache = TokenCache::new(self.provider, self.account, Grant { key, endpoint, scope, subject });
        Ok((Kind::ServiceAccount(cache), written.map(|_| expected)))
    }
}

fn header(name: &str) -> Result<HeaderName, String> {
    HeaderName::try_from(name).map_err(|_| format!("expected a header name, got {name:?}"))
}

/// A token endpoint: what goes there is a credential, so it is encrypted unless it stays on this machine.
fn endpoint(text: &str) -> Result<(Url, Origin), String> {
    let wrong = || format!("expected an https URL, got {text:?}");
    let url = Url::parse(text).map_err(|_| wrong())?;
    let origin = Origin::of(&url).ok_or_else(wrong)?;
    let is_plain = !has_login(&url) && url.fragment().is_none();
    if is_plain && (url.scheme() == "https" || is_local(&url)) { Ok((url, origin)) } else { Err(wrong()) }
}
