//! What the admin listener and the console know of each other. The pages are another crate's; the gateway hands them
//! to the listener.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;

use bytes::Bytes;
use gatehouse_net::{ShutdownPhase, reached};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use tokio::sync::watch;

use crate::http::access::caller::Role;
use crate::http::reply::AdminBody;
use crate::session::{SessionEnd, SessionView};

/// The body of any answer of the listener.
pub type ResponseBody = AdminBody;

/// An answer on its way.
pub type ConsoleResponse = Pin<Box<dyn Future<Output = Response<ResponseBody>> + Send>>;

/// The pages for operators. The listener has checked host, cookie, origin and role before it asks for one.
pub trait Console: Send + Sync + 'static {
    /// What a request needs before it is answered.
    fn access(&self, method: &Method, path: &str) -> Access;

    /// Answers a request. One that may change something runs to its end, whatever becomes of its connection.
    fn respond(&self, request: ConsoleRequest) -> ConsoleResponse;

    /// The page of a request that the listener refused.
    fn refuse(&self, refusal: &ConsoleRefusal<'_>) -> Response<ResponseBody>;
}

/// What a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// A session of this role; none for what everybody may read.
    pub role: Option<Role>,
    /// Bytes of its body, at most.
    pub max_body: usize,
}

/// A request of the console.
pub struct ConsoleRequest {
    /// Its head.
    pub parts: Parts,
    /// Its whole body.
    pub body: Bytes,
    /// The session it belongs to; there is one wherever [`Access`] asks for a role.
    pub session: Option<SessionView>,
    /// The other end of its connection.
    pub address: IpAddr,
    /// When a stream of events has to end.
    pub end: StreamEnd,
}

/// A request that was refused.
pub struct ConsoleRefusal<'r> {
    /// Its head.
    pub parts: &'r Parts,
    /// The session it belongs to, if any.
    pub session: Option<&'r SessionView>,
    /// The status.
    pub status: StatusCode,
    /// Why, a sentence.
    pub message: String,
    /// A login failed, so the person needs another link.
    pub at_login: bool,
}

/// When a stream of events has to end: with its session, or with the listener.
pub struct StreamEnd {
    session: Option<SessionEnd>,
    shutdown: watch::Receiver<ShutdownPhase>,
}

impl StreamEnd {
    pub(super) fn new(session: Option<SessionEnd>, shutdown: watch::Receiver<ShutdownPhase>) -> Self {
        Self { session, shutdown }
    }

    /// Returns once the stream has to end.
    pub async fn reached(&mut self) {
        let Self { session, shutdown } = self;
        let session = async {
            match session {
                Some(end) => end.ended().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = session => {}
            () = reached(shutdown.clone(), ShutdownPhase::LameDuck) => {}
        }
    }
}
