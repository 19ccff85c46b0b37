//! What the provider's sites share: addresses, settings, the book of jobs, the signing key, ready pictures.
//!
//! Answers nothing itself.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use super::book::Book;
use super::delivery::DeliverySite;
use super::poll::PollSite;
use super::refusal::Refusal;
use super::signature::Signer;
use super::submit::SubmitSite;
use super::truth::{Truth, TruthSite};
use crate::pixels::Gallery;
use crate::settings::Settings;

/// Where the context-image provider listens; every address is an origin without a trailing slash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextAddresses {
    /// `POST /v1/flux-kontext-pro`, `POST /v1/flux-kontext-max`, `GET /v1/credits`.
    pub submit: String,
    /// `GET /v1/get_result?id=`.
    pub poll: String,
    /// The files results link to.
    pub delivery: String,
    /// Sample pictures, for references in examples and tests.
    pub samples: String,
    /// `GET /truth`: what the provider knows, for tests in other processes.
    pub truth: String,
}

/// A key in [`Settings::keys`](crate::Settings) that no request could ever present. The key itself is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedKey;

impl std::fmt::Display for MalformedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "settings.keys: expected keys of 8 to 128 letters, digits, '-' and '_', one has another form",
        )
    }
}

impl std::error::Error for MalformedKey {}

/// The provider behind all its listeners.
pub(crate) struct Provider {
    addresses: ContextAddresses,
    pub(super) settings: Settings,
    pub(super) signer: Signer,
    pub(super) gallery: Gallery,
    book: Mutex<Book>,
}

impl Provider {
    pub(crate) fn new(settings: Settings, addresses: ContextAddresses) -> io::Result<Self> {
        if !settings.keys.iter().all(|key| well_formed(key)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, MalformedKey));
        }
        Ok(Self {
            addresses,
            signer: Signer::new()?,
            gallery: Gallery::default(),
            book: Mutex::new(Book::new(&settings)),
            settings,
        })
    }

    pub(crate) fn addresses(&self) -> &ContextAddresses {
        &self.addresses
    }

    pub(crate) fn truth(&self) -> Truth {
        self.book().truth()
    }

    pub(crate) fn submit_site(self: &Arc<Self>) -> SubmitSite {
        SubmitSite(Arc::clone(self))
    }

    pub(crate) fn poll_site(self: &Arc<Self>) -> PollSite {
        PollSite(Arc::clone(self))
    }

    pub(crate) fn delivery_site(self: &Arc<Self>) -> DeliverySite {
        DeliverySite(Arc::clone(self))
    }

    pub(crate) fn truth_site(self: &Arc<Self>) -> TruthSite {
        TruthSite(Arc::clone(self))
    }

    /// Milliseconds since the Unix epoch by the provider's clock.
    pub(super) fn now(&self) -> u64 {
        (self.settings.now)()
    }

    /// The memory of jobs. Held for moments only, never across an await.
    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which account a request's `x-key` belongs to, as an index into the settings' keys.
    pub(super) fn account(&self, headers: &HeaderMap) -> Result<usize, Refusal> {
        let Some(key) = headers.get("x-key") else { return Err(Refusal::unauthenticated()) };
        let key = key.to_str().ok().filter(|key| well_formed(key)).ok_or_else(Refusal::malformed_key)?;
        let known = self.settings.keys.iter().position(|known| known == key);
        known.ok_or_else(Refusal::unauthenticated)
    }
}

/// Other texts are refused before anybody looks whether they are known.
fn well_formed(key: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (8..=128).contains(&key.len()) && key.bytes().all(plain)
}
