//! The open connections of the admin listener: how many there are, and which one gives way to a new one. Never
//! touches a socket.
//!
//! A body that keeps what its answer needs until its last byte has left: the connection counts as in use, and a stream
//! of events counts as one.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use futures_util::StreamExt as _;
use gatehouse_net::{RequestActivity, ServedBody};
use http_body_util::BodyExt as _;
use tokio::sync::oneshot;

use crate::access::Role;

/// Every open connection, in the order of their age.
#[derive(Debug)]
pub(super) struct Connections {
    most: usize,
    most_streams: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    open: BTreeMap<u64, Open>,
}

#[derive(Debug)]
struct Open {
    /// Operations under way, of callers that have shown a token or a session.
    operations: usize,
    /// The role of the reader of its stream of events. Such a connection counts as a stream, not as a connection.
    streams: Option<Role>,
    /// Dropped to end the connection.
    _end: oneshot::Sender<()>,
}

/// One connection's entry, removed when dropped.
#[derive(Debug)]
pub(super) struct Entry {
    id: u64,
    connections: Arc<Connections>,
}

/// A stream of events on a connection.
#[derive(Debug)]
pub(super) struct StreamOn(Arc<Entry>);

/// An operation under way on a connection, until the last byte of its answer is taken to be written.
#[derive(Debug)]
pub(super) struct OperationOn(Arc<Entry>);

impl Connections {
    pub(super) fn new(most: usize, most_streams: usize) -> Arc<Self> {
        Arc::new(Self { most, most_streams, state: Mutex::default() })
    }

    /// Counts a new connection; the receiver ends when it has to give way. At the limit the oldest connection
    /// without an operation gives way; `None` where all of them carry one.
    pub(super) fn enter(self: &Arc<Self>) -> Option<(Entry, oneshot::Receiver<()>)> {
        let mut state = self.state();
        if state.open.values().filter(|open| open.streams.is_none()).count() >= self.most {
            let gives_way = |open: &Open| open.operations == 0 && open.streams.is_none();
            let oldest = state.open.iter().find(|(_, open)| gives_way(open)).map(|(id, _)| *id)?;
            state.open.remove(&oldest);
        }
        let (end, ended) = oneshot::channel();
        let id = state.next;
        state.next += 1;
        state.open.insert(id, Open { operations: 0, streams: None, _end: end });
        Some((Entry { id, connections: Arc::clone(self) }, ended))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    /// Counts an operation: the connection gives way to no other before it ends.
    pub(super) fn begin_operation(self: &Arc<Self>) -> OperationOn {
        self.change(|open| open.operations += 1);
        OperationOn(Arc::clone(self))
    }

    /// Counts a stream of events: the connection gives way to no other before it ends. `None` where there are as many
    /// as there may be; those who only read have at most half of them, so that operators see what happens.
    pub(super) fn begin_stream(self: &Arc<Self>, role: Role) -> Option<StreamOn> {
        let mut state = self.connections.state();
        let most = self.connections.most_streams;
        let open = || state.open.values().filter_map(|open| open.streams);
        let of_viewers = open().filter(|role| *role == Role::Viewer).count();
        if open().count() >= most || (role == Role::Viewer && of_viewers >= most.div_ceil(2)) {
            return None;
        }
        state.open.get_mut(&self.id)?.streams = Some(role);
        Some(StreamOn(Arc::clone(self)))
    }

    fn change(&self, change: impl FnOnce(&mut Open)) {
        // A connection that gave way has no entry any more.
        if let Some(open) = self.connections.state().open.get_mut(&self.id) {
            change(open);
        }
    }
}

impl Drop for StreamOn {
    fn drop(&mut self) {
        self.0.change(|open| open.streams = None);
    }
}

impl Drop for OperationOn {
    fn drop(&mut self) {
        self.0.change(|open| open.operations -= 1);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.connections.state().open.remove(&self.id);
    }
}

/// The body of an answer on a connection. It holds `activity` and `operation`: the request counts as under way until the body
/// is dropped.
pub(super) fn watched(
    body: Body,
    activity: RequestActivity,
    operation: Option<Arc<OperationOn>>,
) -> ServedBody {
    let inspected = body.inspect_frame(move |_| {
        let _held = &operation;
        activity.record_progress();
    });
    inspected.map_err(io::Error::other).boxed_unsync()
}

/// A stream of events: it counts as one, and ends at `end`.
pub(super) fn event_stream(
    body: Body,
    counted: StreamOn,
    end: impl Future<Output = ()> + Send + 'static,
) -> Body {
    Body::from_stream(body.into_data_stream().take_until(async move {
        end.await;
        drop(counted);
    }))
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;

    #[test]
    fn the_oldest_without_an_operation_gives_way() {
        let connections = Connections::new(2, 1);
        let (first, mut first_end) = connections.enter().unwrap();
        let (_second, mut second_end) = connections.enter().unwrap();
        let first = Arc::new(first);
        let operation = Arc::new(first.begin_operation());
        let (third, mut third_end) = connections.enter().unwrap();
        let third = Arc::new(third);
        assert_eq!(second_end.try_recv(), Err(TryRecvError::Closed));
        let _other = third.begin_operation();
        let activity = gatehouse_net::Observed::default().activity.begin_request();
        let answer = watched(Body::from("the rest of it"), activity, Some(operation));
        assert!(connections.enter().is_none(), "all of them carry an operation");
        drop(answer);
        let (_fourth, _end) = connections.enter().unwrap();
        assert_eq!(first_end.try_recv(), Err(TryRecvError::Closed));
        assert_eq!(third_end.try_recv(), Err(TryRecvError::Empty));
    }

    #[test]
    fn streams_have_a_count_of_their_own() {
        let connections = Connections::new(1, 1);
        let (first, mut first_end) = connections.enter().unwrap();
        let first = Arc::new(first);
        let stream = first.begin_stream(Role::Operator).unwrap();
        let (second, mut second_end) = connections.enter().unwrap();
        let second = Arc::new(second);
        assert!(second.begin_stream(Role::Operator).is_none(), "one stream at a time");
        assert_eq!(first_end.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(second_end.try_recv(), Err(TryRecvError::Empty));
        drop(stream);
        let (_third, _end) = connections.enter().unwrap();
        assert_eq!(first_end.try_recv(), Err(TryRecvError::Closed), "without its stream it gives way");
        assert!(second.begin_stream(Role::Operator).is_some());
    }

    /// Those who may only read could keep every operator from seeing what happens.
    #[test]
    fn viewers_have_half_of_the_streams() {
        let connections = Connections::new(9, 4);
        let entries: Vec<_> = (0..5).map(|_| connections.enter().unwrap()).collect();
        let entries: Vec<_> = entries.into_iter().map(|(entry, end)| (Arc::new(entry), end)).collect();
        let begin = |at: usize, role| entries[at].0.begin_stream(role);
        let _viewers = [begin(0, Role::Viewer).unwrap(), begin(1, Role::Viewer).unwrap()];
        assert!(begin(2, Role::Viewer).is_none());
        let _operators = [begin(2, Role::Operator).unwrap(), begin(3, Role::Operator).unwrap()];
        assert!(begin(4, Role::Operator).is_none());
    }

    #[test]
    fn an_ended_connection_leaves_nothing() {
        let connections = Connections::new(1, 1);
        for _ in 0..3 {
            let (entry, mut end) = connections.enter().unwrap();
            let entry = Arc::new(entry);
            drop(entry.begin_operation());
            assert_eq!(end.try_recv(), Err(TryRecvError::Empty));
        }
        assert!(connections.state().open.is_empty());
    }
}
