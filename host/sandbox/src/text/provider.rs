//! What a text provider's requests share: settings, memory, the gate that holds answers up, and who asks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::request::Parts;
use http::{HeaderMap, header};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::common::clock;
use crate::common::settings::Settings;
use crate::text::faults::Faults;
use crate::text::markers::Marker;
use crate::text::record::{Received, TextRecord, Usage};
use crate::text::request_log::RequestLog;

/// Where a text provider listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextAddresses {
    /// The origin, without a trailing slash and without `/v1`.
    pub origin: String,
    /// The record, for tests in other processes: `GET` this URL.
    #[serde(rename = "truth")]
    pub record: String,
}

/// Endings of keys that are not what they should be: `KEY-401` is the troubled sister of any key `KEY`.
const KEY_SUFFIXES: &[(&str, KeyFailure)] = &[
    ("-401", KeyFailure::Revoked),
    ("-403", KeyFailure::Forbidden),
    ("-429", KeyFailure::Limited),
    ("-529", KeyFailure::Overloaded),
    ("-broke", KeyFailure::Broke),
];

/// Why a known key does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyFailure {
    /// No money left.
    Broke,
    Forbidden,
    Limited,
    Overloaded,
    Revoked,
}

/// Whose key it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyOwner {
    Account(usize),
    Failing(KeyFailure),
    Unknown,
}

/// One provider's provider.
pub(crate) struct TextProvider {
    pub(crate) settings: Settings,
    pub(crate) addresses: TextAddresses,
    log: Mutex<RequestLog>,
    /// Counts the times everything held was let go.
    gate: watch::Sender<u64>,
}

impl TextProvider {
    pub(crate) fn new(settings: Settings, addresses: TextAddresses) -> Arc<Self> {
        let (gate, _) = watch::channel(0);
        Arc::new(Self { settings, addresses, log: Mutex::default(), gate })
    }

    pub(crate) fn now(&self) -> u64 {
        (self.settings.now)()
    }

    /// The memory. Held for moments only, never across an await.
    pub(crate) fn log(&self) -> MutexGuard<'_, RequestLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn record(&self) -> TextRecord {
        TextRecord { held: self.gate.receiver_count(), ..self.log().record() }
    }

    /// Whose key this is.
    pub(crate) fn owner(&self, key: &str) -> KeyOwner {
        if let Some(account) = self.settings.keys.iter().position(|known| known == key) {
            return KeyOwner::Account(account);
        }
        let troubled = KEY_SUFFIXES.iter().find(|(ending, _)| {
            key.strip_suffix(ending).is_some_and(|whole| self.settings.keys.iter().any(|it| it == whole))
        });
        troubled.map_or(KeyOwner::Unknown, |(_, trouble)| KeyOwner::Failing(*trouble))
    }

    /// What answers instead of this request, by the markers in its last text.
    pub(crate) fn refusal(&self, text: &str, faults: &Faults) -> Option<Marker> {
        self.log().refusal(text, faults)
    }

    /// Lets everything go that is held up now.
    pub(crate) fn release(&self) {
        self.gate.send_modify(|times| *times = times.wrapping_add(1));
    }

    /// Waits until [`Self::release`] or until the settings' span is over.
    pub(crate) async fn hold(&self) {
        let mut gate = self.gate.subscribe();
        tokio::select! {
            // Fails only without a sender, which stands as long as this does.
            _ = gate.changed() => {}
            () = clock::pause(self.settings.hold) => {}
        }
    }

    /// Notes a request that came.
    pub(crate) fn arrive(
        self: &Arc<Self>,
        head: &Parts,
        body: Option<&[u8]>,
        owner: KeyOwner,
    ) -> RequestGuard {
        let headers = head
            .headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
        let received = Received {
            path: head.uri.path_and_query().map_or_else(String::new, |it| it.as_str().to_owned()),
            headers: headers.collect(),
            account: if let KeyOwner::Account(account) = owner { Some(account) } else { None },
            body: body.map(<[u8]>::to_vec),
            at: self.now(),
            ..Received::default()
        };
        let number = self.log().arrive(received);
        RequestGuard { provider: Arc::clone(self), number, over: false }
    }
}

/// One request from its arrival to its end; dropped before that, the client has left.
pub(crate) struct RequestGuard {
    pub(crate) provider: Arc<TextProvider>,
    pub(crate) number: u64,
    over: bool,
}

impl RequestGuard {
    pub(crate) fn note(&self, change: impl FnOnce(&mut Received)) {
        if let Some(request) = self.provider.log().request(self.number) {
            change(request);
        }
    }

    pub(crate) fn answered(&self, status: u16) {
        self.note(|request| request.status = Some(status));
    }

    pub(crate) fn billed(&self, usage: Usage) {
        self.note(|request| request.usage = Some(usage));
    }

    pub(crate) fn sent(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.note(|request| request.sent = request.sent.saturating_add(bytes));
    }

    /// All was said.
    pub(crate) fn over(&mut self) {
        self.over = true;
        self.note(|request| request.finished = true);
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        if !self.over {
            self.note(|request| request.hung_up = true);
        }
    }
}

/// The key of an `Authorization: Bearer` header.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// Whether a body is declared to be JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let mime = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    mime.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}
