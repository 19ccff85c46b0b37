//! Who is asking: finds the presented key, looks it up by digest, and checks what the key itself demands.
//!
//! Keys are cached by digest and trusted only as long as the store's key generation stands, so a revocation
//! works at once. Never keeps, compares or logs a key's text; whatever is wrong with a key that was never
//! issued is answered in the same words. Spending and model limits are checked where they are committed.

use std::net::IpAddr;
use std::sync::Arc;

use gatehouse_model::{ApiKey, Key, KeyDigest, Pepper, UnixMs};
use http::{HeaderMap, header};
use moka::sync::Cache;

use crate::backend::{Backend, trouble};
use crate::errors::{Kind, Problem};
use crate::http::client_address;

/// Keys in use at once before the store is asked again.
const KNOWN: u64 = 65_536;
/// Well-formed keys that do not exist; few, because only a guesser makes them.
const UNKNOWN: u64 = 4_096;

/// The look-up.
pub(crate) struct Auth {
    pepper: Pepper,
    known: Cache<KeyDigest, (u64, Arc<Key>)>,
    unknown: Cache<KeyDigest, u64>,
}

impl Auth {
    pub(crate) fn new(pepper: Pepper) -> Self {
        Self { pepper, known: Cache::new(KNOWN), unknown: Cache::new(UNKNOWN) }
    }

    /// The caller's key record, or why there is none. `either`: `x-api-key` may carry the key too.
    pub(crate) fn identify<B: Backend>(
        &self,
        backend: &B,
        headers: &HeaderMap,
        either: bool,
        client: IpAddr,
        now: UnixMs,
    ) -> Result<Arc<Key>, Problem> {
        let mut refusal = None;
        for presented in presented(headers, either) {
            match self
                .look_up(backend, presented?)?
                .ok_or_else(unknown)
                .and_then(|key| admit(key, client, now))
            {
                Ok(key) => return Ok(key),
                Err(problem) => refusal = Some(problem),
            }
        }
        Err(refusal.unwrap_or_else(|| missing(either)))
    }

    fn look_up<B: Backend>(&self, backend: &B, presented: &str) -> Result<Option<Arc<Key>>, Problem> {
        let Ok(key) = ApiKey::parse(presented) else { return Ok(None) };
        let digest = key.digest(&self.pepper);
        // Read before the store is: a change in between leaves an entry that is out of date at once.
        let generation = backend.keys_generation();
        if let Some((seen, key)) = self.known.get(&digest)
            && seen == generation
        {
            return Ok(Some(key));
        }
        if self.unknown.get(&digest) == Some(generation) {
            return Ok(None);
        }
        match backend.key(&digest).map_err(trouble)? {
            Some(key) => {
                let key = Arc::new(key);
                self.known.insert(digest, (generation, Arc::clone(&key)));
                Ok(Some(key))
            }
            None => {
                self.known.invalidate(&digest);
                self.unknown.insert(digest, generation);
                Ok(None)
            }
        }
    }
}

/// The key texts of a request in the order they count: `x-api-key` where it may carry one, because its clients
/// send a stale bearer token beside it now and then, and everywhere a bearer token.
fn presented(headers: &HeaderMap, either: bool) -> Vec<Result<&str, Problem>> {
    let mut found = Vec::with_capacity(2);
    if either {
        found.extend(
            headers.get_all("x-api-key").iter().map(|value| Ok(value.to_str().unwrap_or_default().trim())),
        );
    }
    for value in headers.get_all(header::AUTHORIZATION) {
        let text = value.to_str().unwrap_or_default();
        let token = text.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        found.push(token.map(|(_, token)| token.trim()).ok_or_else(|| {
            let message = "Authorization: expected \"Bearer <API key>\"";
            Problem::new(Kind::Unauthenticated, message)
        }));
    }
    found
}

/// What the key's own record demands.
fn admit(key: Arc<Key>, client: IpAddr, now: UnixMs) -> Result<Arc<Key>, Problem> {
    if key.revoked.is_some() {
        return Err(Problem::new(Kind::Unauthenticated, "this API key has been revoked"));
    }
    if key.expires.is_some_and(|end| end <= now) {
        return Err(Problem::new(Kind::Unauthenticated, "this API key has expired"));
    }
    if !key.networks.is_empty() && !client_address::is_within(client, &key.networks) {
        let message = format!("this API key may not be used from {client}");
        return Err(Problem::new(Kind::NetworkForbidden, message));
    }
    Ok(key)
}

fn unknown() -> Problem {
    Problem::new(Kind::Unauthenticated, "invalid API key")
}

fn missing(either: bool) -> Problem {
    let message = if either {
        "missing API key: send it as \"Authorization: Bearer <API key>\" or as x-api-key"
    } else {
        "missing API key: send it as \"Authorization: Bearer <API key>\""
    };
    Problem::new(Kind::Unauthenticated, message)
}
