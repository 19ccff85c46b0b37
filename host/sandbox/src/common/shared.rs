//! The state that all listeners of a provider share, with the key of its links. Knows no protocol and answers no request but the
//! one for the record.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hmac::{Hmac, Mac};
use http::{Method, Request};
use hyper::body::Incoming;
use serde::Serialize;
use sha2::Sha256;

use crate::common::picture::PictureCache;
use crate::common::server::{HandlerResult, reply, with};
use crate::common::settings::Settings;

/// What a provider keeps of its calls.
pub(crate) trait Table: Send + 'static {
    /// The same for tests.
    type Record: Serialize;

    fn record(&self, now: u64) -> Self::Record;
}

/// A provider behind all its listeners.
pub(crate) struct Shared<A, T> {
    pub(crate) addresses: A,
    pub(crate) settings: Settings,
    /// Signs links to files.
    pub(crate) key: SigningKey,
    pub(crate) pictures: PictureCache,
    table: Mutex<T>,
}

impl<A, T: Table> Shared<A, T> {
    pub(crate) fn new(settings: &Settings, addresses: A, table: T) -> io::Result<Arc<Self>> {
        let (settings, key, pictures) = (settings.clone(), SigningKey::new()?, PictureCache::default());
        Ok(Arc::new(Self { addresses, settings, key, pictures, table: Mutex::new(table) }))
    }

    /// Milliseconds since the Unix epoch by the provider's clock.
    pub(crate) fn now(&self) -> u64 {
        (self.settings.now)()
    }

    /// The table. Locked for moments only, never across an await.
    pub(crate) fn table(&self) -> MutexGuard<'_, T> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn record(&self) -> T::Record {
        self.table().record(self.now())
    }

    /// Serves the record at `/truth`.
    pub(crate) async fn answer_record(self: Arc<Self>, request: Request<Incoming>) -> HandlerResult {
        let is_there = request.uri().path() == "/truth";
        answer_record(&request, is_there.then(|| self.record()))
    }
}

/// What a simulated provider signs its links with, new at each start: links of one process open nothing in the next. Knows no
/// form of a link.
pub(crate) struct SigningKey([u8; 32]);

impl SigningKey {
    pub(crate) fn new() -> io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        Ok(Self(key))
    }

    /// The code of the signed parts of a link, to be written or to be verified.
    pub(crate) fn mac(&self, signed: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        mac.update(signed.as_bytes());
        mac
    }

    /// The same in hexadecimal digits.
    pub(crate) fn code(&self, signed: &str) -> String {
        format!("{:x}", self.mac(signed).finalize().into_bytes())
    }
}

/// A record as JSON, so that a test can read it after it has killed the gateway.
pub(crate) fn answer_record(request: &Request<Incoming>, found: Option<impl Serialize>) -> HandlerResult {
    let Some(record) = found else { return Ok(reply(404, "text/plain", "no such record")) };
    if request.method() != Method::GET {
        return Ok(with(reply(405, "text/plain", "method not allowed"), "allow", "GET"));
    }
    let record = serde_json::to_vec(&record).expect("a record is plain data with text keys");
    Ok(reply(200, "application/json", record))
}
