//! One HTTP exchange over our own connector, and whether anything had been sent when it failed.

use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use hyper_util::client::legacy::{Client, ResponseFuture};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::client::connect::{ConnectError, Connector};

/// Interim responses to one request.
const MAX_INTERIM: u32 = 64;
const ENDLESS: &str = "the provider sends interim responses (1xx) and no answer";

/// How the gateway names itself.
pub(crate) const AGENT: &str = concat!("gatehouse/", env!("CARGO_PKG_VERSION"));

/// A request's body.
pub(crate) type Payload = UnsyncBoxBody<Bytes, io::Error>;
/// The client of every outgoing call.
pub(crate) type Http = Client<Connector, Payload>;

/// A body of bytes in hand.
pub(crate) fn payload(bytes: Bytes) -> Payload {
    UnsyncBoxBody::new(Full::new(bytes).map_err(|never| match never {}))
}

/// How far a call came, to be asked also when it was given up.
#[derive(Debug, Default)]
pub struct CallProgress {
    pub(crate) sent: AtomicBool,
    head: OnceLock<Duration>,
}

impl CallProgress {
    /// Whether something of the call may have been sent.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.sent.load(Ordering::Relaxed)
    }

    /// How long after its beginning the head of the answer came; `None` where it did not.
    #[must_use]
    pub fn first_byte(&self) -> Option<Duration> {
        self.head.get().copied()
    }

    pub(crate) fn answered_after(&self, time: Duration) {
        let _ = self.head.set(time);
    }
}

/// Why kept bytes of a request's body could not be read, an extension of the request. Its own place, since a connection of
/// HTTP/2 tells only that the stream was given up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unread(Arc<OnceLock<String>>);

impl Unread {
    pub(crate) fn tell(&self, error: &io::Error) {
        let _ = self.0.set(chain(error));
    }
}

/// Why there is no response head.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    /// Nothing was sent.
    #[error("{0}")]
    NotSent(ConnectError),
    /// Nothing was sent: there is no host of that name. Why, for the log.
    #[error("no connection: {0}")]
    NoHost(String),
    /// Nothing was sent, for another reason.
    #[error("no connection: {0}")]
    NoConnection(String),
    /// Something may have been sent, then time was over.
    #[error("no answer in time")]
    Timeout,
    /// Something may have been sent, then the connection broke.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// Something was sent, then our own store did not bring the rest.
    #[error("the rest of the request could not be read: {0}")]
    Unread(String),
}

/// Sends `request` and waits for the head of the answer. The client itself tries again on a fresh connection
/// when a pooled one turned out closed before the request was taken, and never otherwise.
pub(crate) async fn send(
    http: &Http,
    request: Request<Payload>,
    deadline: Instant,
) -> Result<Response<Incoming>, ExchangeError> {
    send_marked(http, request, deadline, Arc::default()).await
}

/// The same; `progress` says afterwards whether something may have been sent, also where the exchange was given up.
pub(crate) async fn send_marked(
    http: &Http,
    mut request: Request<Payload>,
    deadline: Instant,
    progress: Arc<CallProgress>,
) -> Result<Response<Incoming>, ExchangeError> {
    let connection = Sending { connection: capture_connection(&mut request), progress };
    let sent = || connection.has_begun();
    let interim = count_interim(&mut request);
    let unread = request.extensions().get::<Unread>().cloned().unwrap_or_default();
    let answered = tokio::select! {
        answered = timeout_at(deadline, begin(http, request)) => answered,
        () = interim.notified() => return Err(ExchangeError::Broken(ENDLESS.to_owned())),
    };
    match answered {
        Ok(Ok(response)) => Ok(response),
        _ if let Some(why) = unread.0.get() => Err(ExchangeError::Unread(why.clone())),
        Err(_) if sent() => Err(ExchangeError::Timeout),
        Err(_) => Err(ExchangeError::NoConnection("time was over before there was one".to_owned())),
        Ok(Err(error)) if error.is_connect() || !sent() => Err(not_sent(error)),
        Ok(Err(error)) => Err(ExchangeError::Broken(chain(&error))),
    }
}

/// An exchange under way. Its end, however it comes, leaves the mark.
struct Sending {
    connection: CaptureConnection,
    progress: Arc<CallProgress>,
}

impl Sending {
    /// Whether a connection has the request.
    fn has_begun(&self) -> bool {
        self.connection.connection_metadata().is_some()
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.progress.sent.fetch_or(self.has_begun(), Ordering::Relaxed);
    }
}

/// Notified once the provider has sent more responses with a status of 1xx than a server has reason to: each of them is
/// read and dropped, so that one may go on until the time of the call is over.
fn count_interim(request: &mut Request<Payload>) -> Arc<Notify> {
    let (endless, seen) = (Arc::new(Notify::new()), AtomicU32::new(0));
    let told = Arc::clone(&endless);
    hyper::ext::on_informational(request, move |_| {
        if seen.fetch_add(1, Ordering::Relaxed) >= MAX_INTERIM {
            told.notify_one();
        }
    });
    endless
}

/// Apart from [`send`], so that the client is compiled in this crate and not in every one that awaits it.
fn begin(http: &Http, request: Request<Payload>) -> ResponseFuture {
    http.request(request)
}

fn not_sent(error: hyper_util::client::legacy::Error) -> ExchangeError {
    let text = chain(&error);
    match error.source().and_then(|source| source.downcast_ref::<ConnectError>()) {
        Some(ConnectError::NotPublic { host, what }) => {
            ExchangeError::NotSent(ConnectError::NotPublic { host: host.clone(), what })
        }
        Some(ConnectError::Resolve(_) | ConnectError::NoAddress) => ExchangeError::NoHost(text),
        Some(ConnectError::Timeout(after)) => ExchangeError::NotSent(ConnectError::Timeout(*after)),
        _ => ExchangeError::NoConnection(text),
    }
}

/// An error with all its causes, in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}
