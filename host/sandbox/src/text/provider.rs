//! The state all requests of one text provider share: settings, the request log, the gate that holds answers.
//!
//! Finds the account of a key, and records each request from its arrival to its end. Knows no protocol.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::request::Parts;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::common::clock;
use crate::common::settings::Settings;
use crate::text::answer::seed::{IdForm, Seed};
use crate::text::markers::Marker;
use crate::text::record::{Received, TextRecord};
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

/// Suffixes that turn an accepted key `KEY` into one that fails, e.g. `KEY-403`.
const FAILING_SUFFIXES: &[(&str, Marker)] = &[
    ("-403", Marker::Forbidden),
    ("-429", Marker::TooMany),
    ("-529", Marker::Overloaded),
    ("-broke", Marker::Credit),
];

/// One provider.
pub(crate) struct TextProvider {
    pub(crate) settings: Settings,
    pub(crate) addresses: TextAddresses,
    log: Mutex<RequestLog>,
    /// Counts releases; each held answer watches it.
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

    /// The request log. Locked for moments only, never across an await.
    pub(crate) fn log(&self) -> MutexGuard<'_, RequestLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn record(&self) -> TextRecord {
        TextRecord { held: self.gate.receiver_count(), ..self.log().record() }
    }

    /// The account of a key, or the failure its suffix asks for.
    pub(crate) fn account(&self, key: Option<&str>) -> Result<usize, Option<Marker>> {
        let key = key.ok_or(None)?;
        let known = |key: &str| self.settings.account(key);
        let fails = |suffix: &str| key.strip_suffix(suffix).is_some_and(|stem| known(stem).is_some());
        let failing = FAILING_SUFFIXES.iter().find(|(suffix, _)| fails(suffix));
        known(key).ok_or_else(|| failing.map(|(_, marker)| *marker))
    }

    /// Releases every held answer.
    pub(crate) fn release(&self) {
        self.gate.send_modify(|times| *times = times.wrapping_add(1));
    }

    /// Waits for [`Self::release`], at most for the settings' span.
    pub(crate) async fn hold(&self) {
        let mut gate = self.gate.subscribe();
        tokio::select! {
            // Fails only without a sender, which lives as long as `self`.
            _ = gate.changed() => {}
            () = clock::pause(self.settings.hold) => {}
        }
    }

    /// Records a request that arrived.
    pub(crate) fn begin(
        self: &Arc<Self>,
        head: &Parts,
        body: Option<&[u8]>,
        account: Option<usize>,
    ) -> RequestGuard {
        let headers = head.headers.iter();
        let headers =
            headers.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
        let received = Received {
            path: head.uri.path_and_query().map_or_else(String::new, |it| it.as_str().to_owned()),
            headers: headers.collect(),
            account,
            body: body.map(<[u8]>::to_vec),
            at: self.now(),
            ..Received::default()
        };
        let number = self.log().append(received);
        RequestGuard { provider: Arc::clone(self), number, is_finished: false }
    }
}

/// One request under way. Dropped before [`Self::finish`], it records that the client left.
pub(crate) struct RequestGuard {
    pub(crate) provider: Arc<TextProvider>,
    number: u64,
    is_finished: bool,
}

impl RequestGuard {
    /// Changes the record of the request.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Received)) {
        if let Some(request) = self.provider.log().request(self.number) {
            change(request);
        }
    }

    /// An id that differs from request to request.
    pub(crate) fn id(&self, label: &str, form: IdForm) -> String {
        let seed = format!("{label} {} {}", self.provider.addresses.origin, self.number);
        form.draw(&mut Seed::of(seed.as_bytes()))
    }

    pub(crate) fn sent(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.update(|request| request.sent = request.sent.saturating_add(bytes));
    }

    /// The reply is complete, or broken off on purpose.
    pub(crate) fn finish(&mut self) {
        self.is_finished = true;
        self.update(|request| request.finished = true);
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        if !self.is_finished {
            self.update(|request| request.hung_up = true);
        }
    }
}
