//! What a text provider's requests share: settings, memory, the gate that holds answers up, and who asks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::request::Parts;
use http::{HeaderMap, header};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::book::Book;
use super::faults::{Faults, Mark};
use super::truth::{Received, TextTruth, Usage};
use crate::clock;
use crate::settings::Settings;

/// Where a text provider listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextAddresses {
    /// The origin, without a trailing slash and without `/v1`.
    pub origin: String,
    /// What the provider knows, for tests in other processes: `GET` this URL.
    pub truth: String,
}

/// Endings of keys that are not what they should be: `KEY-401` is the troubled sister of any key `KEY`.
const TROUBLED: &[(&str, Trouble)] = &[
    ("-401", Trouble::Revoked),
    ("-403", Trouble::Forbidden),
    ("-429", Trouble::Limited),
    ("-529", Trouble::Overloaded),
    ("-broke", Trouble::Broke),
];

/// Why a known key does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// No money left.
    Broke,
    Forbidden,
    Limited,
    Overloaded,
    Revoked,
}

/// Whose key it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    Account(usize),
    Troubled(Trouble),
    Unknown,
}

/// One provider's desk.
pub(crate) struct Desk {
    pub(crate) settings: Settings,
    pub(crate) addresses: TextAddresses,
    book: Mutex<Book>,
    /// Counts the times everything held was let go.
    gate: watch::Sender<u64>,
}

impl Desk {
    pub(crate) fn new(settings: Settings, addresses: TextAddresses) -> Arc<Self> {
        let (gate, _) = watch::channel(0);
        Arc::new(Self { settings, addresses, book: Mutex::default(), gate })
    }

    pub(crate) fn now(&self) -> u64 {
        (self.settings.now)()
    }

    /// The memory. Held for moments only, never across an await.
    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn truth(&self) -> TextTruth {
        TextTruth { held: self.gate.receiver_count(), ..self.book().truth() }
    }

    /// Whose key this is.
    pub(crate) fn holder(&self, key: &str) -> Holder {
        if let Some(account) = self.settings.keys.iter().position(|known| known == key) {
            return Holder::Account(account);
        }
        let troubled = TROUBLED.iter().find(|(ending, _)| {
            key.strip_suffix(ending).is_some_and(|whole| self.settings.keys.iter().any(|it| it == whole))
        });
        troubled.map_or(Holder::Unknown, |(_, trouble)| Holder::Troubled(*trouble))
    }

    /// What answers instead of this request, by the markers in its last text.
    pub(crate) fn refusal(&self, text: &str, faults: &Faults) -> Option<Mark> {
        self.book().refusal(text, faults)
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
    pub(crate) fn arrive(self: &Arc<Self>, head: &Parts, body: Option<&[u8]>, holder: Holder) -> Visit {
        let headers = head
            .headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
        let received = Received {
            path: head.uri.path_and_query().map_or_else(String::new, |it| it.as_str().to_owned()),
            headers: headers.collect(),
            account: if let Holder::Account(account) = holder { Some(account) } else { None },
            body: body.map(<[u8]>::to_vec),
            at: self.now(),
            ..Received::default()
        };
        let number = self.book().arrive(received);
        Visit { desk: Arc::clone(self), number, over: false }
    }
}

/// One request from its arrival to its end; dropped before that, the client has left.
pub(crate) struct Visit {
    pub(crate) desk: Arc<Desk>,
    pub(crate) number: u64,
    over: bool,
}

impl Visit {
    pub(crate) fn note(&self, change: impl FnOnce(&mut Received)) {
        if let Some(request) = self.desk.book().request(self.number) {
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

impl Drop for Visit {
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
