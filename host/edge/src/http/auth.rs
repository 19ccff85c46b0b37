//! Authentication: reads the API key of a request, looks it up by digest, and checks its revocation, expiry
//! and networks.
//!
//! Keys are cached by digest and valid only for the store's current key generation, so a revocation works at
//! once. Never keeps, compares or logs a key's text. Every key that was never issued gets the same message,
//! whatever is wrong with it. Spending and model limits are checked where they are committed.

use std::net::IpAddr;
use std::sync::Arc;

use gatehouse_model::{ApiKey, CustomerId, Key, KeyDigest, KeyId, Pepper, UnixMs};
use http::{HeaderMap, header};
use moka::sync::Cache;

use crate::backend::{Backend, store_refusal};
use crate::errors::{Kind, Refusal};
use crate::http::forwarded;

/// Cached keys.
const MAX_KNOWN: u64 = 65_536;
/// Cached digests of well-formed keys that do not exist; few, because only guessing makes them.
const MAX_UNKNOWN: u64 = 4_096;

/// The key look-up and its caches.
pub(crate) struct Auth {
    pepper: Pepper,
    known: Found,
    unknown: Found,
}

/// What the store said of digests, each with its key generation at that time.
type Found = Cache<KeyDigest, (u64, Option<Arc<Key>>)>;

/// Id and customer of a key that was refused, as far as there are any.
pub(crate) type Refused = (Option<KeyId>, Option<CustomerId>);

impl Auth {
    pub(crate) fn new(pepper: Pepper) -> Self {
        Self { pepper, known: Cache::new(MAX_KNOWN), unknown: Cache::new(MAX_UNKNOWN) }
    }

    /// The caller's key record, or the refusal, with the key that was refused. `x_api_key`: that header may carry the key
    /// too.
    pub(crate) async fn authenticate(
        &self,
        backend: &dyn Backend,
        headers: &HeaderMap,
        x_api_key: bool,
        client: IpAddr,
        now: UnixMs,
    ) -> Result<Arc<Key>, (Refusal, Refused)> {
        let mut last = None;
        for presented in presented(headers, x_api_key) {
            let presented = presented.map_err(|refusal| (refusal, Refused::default()))?;
            let key = ApiKey::parse(presented).ok();
            // The beginning of a key is its id, which is no secret.
            let refused = || (key.as_ref().map(ApiKey::id), None);
            let found = match &key {
                Some(key) => self.look_up(backend, key).await.map_err(|refusal| (refusal, refused()))?,
                None => None,
            };
            let checked = match found {
                None => Err((Refusal::new(Kind::Unauthenticated, "invalid API key"), refused())),
                Some(key) => {
                    let refused = (Some(key.id.clone()), Some(key.customer.clone()));
                    check(key, client, now).map_err(|refusal| (refusal, refused))
                }
            };
            match checked {
                Ok(key) => return Ok(key),
                Err(refused) => last = Some(refused),
            }
        }
        Err(last.unwrap_or_else(|| (missing(x_api_key), Refused::default())))
    }

    async fn look_up(&self, backend: &dyn Backend, key: &ApiKey) -> Result<Option<Arc<Key>>, Refusal> {
        let digest = key.digest(&self.pepper);
        // Read before the key: a change in between makes the cached entry stale at once.
        let generation = backend.keys_generation();
        for found in [&self.known, &self.unknown] {
            if let Some((seen, key)) = found.get(&digest)
                && seen == generation
            {
                return Ok(key);
            }
        }
        let key = backend.key(&digest).await.map_err(store_refusal)?.map(Arc::new);
        let found = if key.is_some() { &self.known } else { &self.unknown };
        found.insert(digest, (generation, key.clone()));
        Ok(key)
    }
}

/// The key texts of a request in order of precedence: `x-api-key` first where it may carry one, because its
/// clients sometimes send a stale bearer token too; then bearer tokens.
fn presented(headers: &HeaderMap, x_api_key: bool) -> Vec<Result<&str, Refusal>> {
    let mut found = Vec::with_capacity(2);
    if x_api_key {
        found.extend(
            headers.get_all("x-api-key").iter().map(|value| Ok(value.to_str().unwrap_or_default().trim())),
        );
    }
    for value in headers.get_all(header::AUTHORIZATION) {
        let text = value.to_str().unwrap_or_default();
        let token = text.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        found.push(token.map(|(_, token)| token.trim()).ok_or_else(|| {
            let message = "Authorization: expected \"Bearer <API key>\"";
            Refusal::new(Kind::Unauthenticated, message)
        }));
    }
    found
}

/// Checks revocation, expiry and networks.
fn check(key: Arc<Key>, client: IpAddr, now: UnixMs) -> Result<Arc<Key>, Refusal> {
    check_life(&key, now)?;
    if !key.networks.is_empty() && !forwarded::is_within(client, &key.networks) {
        let message = format!("this API key may not be used from {client}");
        return Err(Refusal::new(Kind::NetworkForbidden, message));
    }
    Ok(key)
}

/// Checks revocation and expiry alone.
pub(crate) fn check_life(key: &Key, now: UnixMs) -> Result<(), Refusal> {
    if key.revoked.is_some() {
        return Err(Refusal::new(Kind::Unauthenticated, "this API key has been revoked"));
    }
    if key.expires.is_some_and(|end| end <= now) {
        return Err(Refusal::new(Kind::Unauthenticated, "this API key has expired"));
    }
    Ok(())
}

fn missing(x_api_key: bool) -> Refusal {
    let message = if x_api_key {
        "missing API key: send it as \"Authorization: Bearer <API key>\" or as x-api-key"
    } else {
        "missing API key: send it as \"Authorization: Bearer <API key>\""
    };
    Refusal::new(Kind::Unauthenticated, message)
}
