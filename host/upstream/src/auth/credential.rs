//! An account's credential: the configured way with its secret resolved, and what one call carries of it.

use std::sync::Arc;

use gatehouse_model::{Secret, UnixMs};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;
use url::Url;

use crate::auth::jwt;
use crate::auth::redact::{Redactor, is_telling};
use crate::auth::signing::SigningKey;
use crate::auth::token_cache::{TokenCache, TokenInUse};
use crate::auth::token_endpoint::{TokenAccess, TokenError};

/// What an account has to authenticate with. Nothing here can be printed.
pub(crate) struct Credential {
    kind: Kind,
    /// Takes the account's own secret out of what comes back; its forms are worked out once.
    pub(crate) redactor: Arc<Redactor>,
    /// Its secret is too short or too uniform to be taken out of what comes back.
    pub(crate) is_weak: bool,
}

/// The ways, with what each needs.
#[derive(PartialEq)]
pub(crate) enum Kind {
    /// Nothing.
    None,
    /// The secret itself.
    Fixed(Location, Secret<String>),
    /// A token made for each call.
    Jwt { key_id: Secret<String>, secret: Secret<String>, lifetime_s: u64 },
    /// A signature of each request.
    Hmac(Arc<SigningKey>),
    /// A token that was issued.
    ServiceAccount(Arc<TokenCache>),
}

/// What one call carries.
pub(crate) struct CallCredential {
    pub(crate) proof: Proof,
    /// Takes it out of what comes back.
    pub(crate) redactor: Arc<Redactor>,
    /// The issued token among it.
    pub(crate) token: Option<TokenInUse>,
}

/// How a request shows whose it is.
pub(crate) enum Proof {
    /// Not at all.
    None,
    /// By a text in a location.
    AtLocation(Location, Secret<String>),
    /// By a signature over the whole request.
    Signature(Arc<SigningKey>),
}

impl Credential {
    pub(crate) fn new(kind: Kind) -> Self {
        let secret = match &kind {
            Kind::Fixed(_, secret) | Kind::Jwt { secret, .. } => Some(secret),
            Kind::Hmac(key) => Some(&key.secret),
            // The key of a service account signs; no provider ever receives it.
            Kind::None | Kind::ServiceAccount(_) => None,
        };
        let redactor = Arc::new(Redactor::of(secret));
        let is_weak = secret.is_some_and(|secret| !is_telling(secret.expose().as_bytes()));
        Self { kind, redactor, is_weak }
    }

    /// Whether both are the same account's, used in the same way.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind
    }

    /// Whether a header of this lower-case name is the credential's, so that a plugin may not set it.
    pub(crate) fn owns(&self, name: &str) -> bool {
        match &self.kind {
            Kind::Fixed(Location::Header(location), _) => location == name,
            Kind::Hmac(key) => key.owns(name),
            Kind::None | Kind::Fixed(..) | Kind::Jwt { .. } | Kind::ServiceAccount(_) => false,
        }
    }

    /// What a call at this moment carries. A token is awaited until `deadline`.
    pub(crate) async fn for_call(
        &self,
        access: &TokenAccess,
        deadline: Instant,
    ) -> Result<CallCredential, TokenError> {
        let (proof, redactor, token) = match &self.kind {
            Kind::None => (Proof::None, Arc::clone(&self.redactor), None),
            Kind::Fixed(location, secret) => {
                (Proof::AtLocation(location.clone(), secret.clone()), Arc::clone(&self.redactor), None)
            }
            Kind::Jwt { key_id, secret, lifetime_s } => {
                let token = jwt::of_access_key(key_id, secret, *lifetime_s, access.clock.now());
                let redactor = Arc::new(Redactor::of([secret, &token, &jwt::signature_of(&token)]));
                (Proof::AtLocation(Location::Bearer, token), redactor, None)
            }
            Kind::Hmac(key) => (Proof::Signature(Arc::clone(key)), Arc::clone(&self.redactor), None),
            Kind::ServiceAccount(cache) => {
                let issued = cache.token(access, deadline).await?;
                let text = issued.token.text.clone();
                (Proof::AtLocation(Location::Bearer, text), Arc::clone(&issued.token.redactor), Some(issued))
            }
        };
        Ok(CallCredential { proof, redactor, token })
    }
}

impl CallCredential {
    /// Nothing, for a call that goes without credentials.
    pub(crate) fn none(redactor: &Arc<Redactor>) -> Self {
        Self { proof: Proof::None, redactor: Arc::clone(redactor), token: None }
    }

    /// The provider refused it: whether the call may go again with another one.
    pub(crate) fn is_renewed_after_refusal(&self, now: UnixMs) -> bool {
        self.token.as_ref().is_some_and(|token| token.drop_refused(now))
    }
}

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
    let Some(value) = sensitive(value).filter(|_| !headers.contains_key(name)) else { return false };
    headers.insert(name.clone(), value);
    true
}

/// A header's value that is kept out of HPACK tables and of anything that prints headers.
pub(crate) fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
