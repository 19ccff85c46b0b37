//! `GET /v1/tasks/{id}/events`: a task as server-sent events, from its present state to its end.
//!
//! The number of an event is the task's revision, so a client may come back to any process, after any restart. Each event
//! shows the task as it is read at that moment: a slow client misses progress, never the end. Nothing is queued for it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use gatehouse_driver::{FollowedTask, StoreError};
use gatehouse_model::{Clock, CustomerId, Key, Status, Task};
use gatehouse_net::{ShutdownPhase, reached};
use http::{HeaderMap, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tokio::sync::watch;

use crate::backend::{Backend, store_refusal};
use crate::config::seconds;
use crate::endpoints::task_view::view;
use crate::endpoints::tasks::{parse_id, unknown};
use crate::errors::{Kind, Outcome, Refusal};
use crate::http::context::EndpointRequest;
use crate::http::query::Query;
use crate::limits::concurrency_limit::Permit;
use crate::response::{ResponseBody, json_bytes};
use crate::sse;

/// How long a client waits before it comes back, in milliseconds.
const RETRY: &[u8] = b"retry: 2000\n\n";
const HEARTBEAT: &[u8] = b": hb\n\n";
/// The header of a client that comes back.
const LAST_EVENT_ID: &str = "last-event-id";

/// Answers with the events, or with nothing where the client has the last one.
pub(super) async fn follow(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    let context = request.context;
    let id = parse_id(request.param)?;
    let known = last_event(&request.parts.headers, &Query::parse(request.parts.uri.query()))?;
    let followed = context.backend.follow(key, id).await.map_err(store_refusal)?;
    let FollowedTask { now, later } = followed.ok_or_else(|| unknown(request.param))?;
    if now.status.is_final() && known == Some(now.revision) {
        let mut response = Response::new(ResponseBody::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        return Ok(response);
    }
    let permit = context.task_streams.try_acquire(&key.customer).ok_or_else(|| {
        let max = context.config.limits.task_streams_per_customer;
        Refusal::new(Kind::RateLimited, format!("{max} streams of task events are open, the most at once"))
    })?;
    let (shown, next) = match known == Some(now.revision) {
        true => (Some(Shown::of(&now)), None),
        false => (None, Some(now)),
    };
    let events = Events {
        backend: Arc::clone(&context.backend),
        clock: Arc::clone(&context.clock),
        interval: seconds(context.config.limits.keep_alive_seconds),
        shutdown: context.shutdown.clone(),
        base: request.base_url.clone(),
        later,
        shown,
        next,
        ended: false,
        permit: Some(permit),
    };
    let first = stream::once(async { Ok(Bytes::from_static(RETRY)) });
    let rest = stream::unfold(events, |mut events| async move { Some((events.next().await?, events)) });
    let body = StreamBody::new(first.chain(rest).map(|piece| piece.map(Frame::data)));
    Ok(sse::response(ResponseBody::Stream(body.boxed_unsync())))
}

/// The number of the last event that the client has. Text that is no number of ours is one it does not have.
fn last_event(headers: &HeaderMap, query: &Query) -> Result<Option<u64>, Refusal> {
    let text = match headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok()) {
        Some(text) => Some(text),
        None => query.one("after")?,
    };
    Ok(text.and_then(|text| text.trim().parse().ok()))
}

/// The events of one client.
struct Events {
    backend: Arc<dyn Backend>,
    clock: Arc<dyn Clock>,
    /// Without an event for so long, a comment keeps the connection open.
    interval: Duration,
    shutdown: watch::Receiver<ShutdownPhase>,
    /// What links begin with.
    base: String,
    later: BoxStream<'static, Result<Task, StoreError>>,
    /// What the client has seen last.
    shown: Option<Shown>,
    /// The state to show next.
    next: Option<Task>,
    ended: bool,
    /// Given back with the last event, before the client can have read it.
    permit: Option<Permit<CustomerId>>,
}

/// What of a task a client would see change.
#[derive(PartialEq, Eq)]
struct Shown {
    status: Status,
    progress: u8,
    public: Vec<u8>,
}

impl Shown {
    fn of(task: &Task) -> Self {
        Self { status: task.status, progress: task.progress, public: task.public.clone() }
    }
}

impl Events {
    /// The next piece of the body; `None` at its end.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        let mut pause = self.clock.pause(self.interval);
        while !self.ended {
            if let Some(task) = self.next.take() {
                self.ended = task.status.is_final();
                if self.ended {
                    self.permit = None;
                }
                let shown = Shown::of(&task);
                let Some(name) = name(self.shown.as_ref(), &shown) else { continue };
                self.shown = Some(shown);
                return self.event(name, task);
            }
            tokio::select! {
                biased;
                // Clients come back to the next process.
                () = reached(self.shutdown.clone(), ShutdownPhase::LameDuck) => self.ended = true,
                task = self.later.next() => match task {
                    Some(Ok(task)) => self.next = Some(task),
                    // Without its end: the client comes back and reads the rest.
                    Some(Err(_)) | None => self.ended = true,
                },
                () = &mut pause => return Some(Ok(Bytes::from_static(HEARTBEAT))),
            }
        }
        None
    }

    fn event(&self, name: &str, task: Task) -> Option<io::Result<Bytes>> {
        let revision = task.revision;
        let view = match view(&*self.backend, task, &self.base) {
            Ok(view) => json_bytes(&view),
            Err(refusal) => {
                tracing::error!(cause = refusal.cause(), "a task could not be shown as an event");
                return None;
            }
        };
        let head = format!("id: {revision}\nevent: {name}\ndata: ");
        Some(Ok(Bytes::from([head.as_bytes(), &view, b"\n\n"].concat())))
    }
}

/// The name of the event that shows `now` to a client that has seen `before`; `None` where it would see no difference.
fn name(before: Option<&Shown>, now: &Shown) -> Option<&'static str> {
    match (now.status, before) {
        (Status::Completed, _) => Some("result"),
        (Status::Failed, _) => Some("error"),
        (_, None) => Some("status"),
        (status, Some(before)) if before.status != status => Some("status"),
        (_, Some(before)) => (before != now).then_some("progress"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_named_by_what_changed() {
        let shown = |status, progress, public: &str| Shown { status, progress, public: public.into() };
        let queued = || shown(Status::Submitted, 0, "");
        for (before, now, expected) in [
            (None, queued(), Some("status")),
            (Some(queued()), queued(), None),
            (Some(queued()), shown(Status::Processing, 5, ""), Some("status")),
            (Some(queued()), shown(Status::Submitted, 5, ""), Some("progress")),
            (Some(queued()), shown(Status::Submitted, 0, "{}"), Some("progress")),
            (Some(queued()), shown(Status::Completed, 100, "{}"), Some("result")),
            (Some(queued()), shown(Status::Failed, 5, ""), Some("error")),
            (None, shown(Status::Failed, 0, ""), Some("error")),
        ] {
            assert_eq!(name(before.as_ref(), &now), expected);
        }
    }

    #[test]
    fn a_client_says_what_it_has() {
        let check = |header: Option<&str>, query: &str, expected: Option<u64>| {
            let mut headers = HeaderMap::new();
            if let Some(text) = header {
                headers.insert(LAST_EVENT_ID, text.parse().unwrap());
            }
            let found = last_event(&headers, &Query::parse(Some(query))).unwrap();
            assert_eq!(found, expected, "{header:?} {query}");
        };
        check(None, "", None);
        check(Some("7"), "", Some(7));
        check(Some("7"), "after=3", Some(7));
        check(None, "after=3", Some(3));
        check(Some("evt_1"), "after=3", None);
        check(Some("-1"), "", None);
        check(None, "after=", None);
        assert!(last_event(&HeaderMap::new(), &Query::parse(Some("after=1&after=2"))).is_err());
    }
}
