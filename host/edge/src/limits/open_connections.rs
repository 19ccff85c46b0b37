//! The open connections of all listeners, and which of them ends to make room for a new one. Never touches a socket.
//!
//! A connection is in use from the moment that a request on it shows a key, or a signed link, until the last byte of the
//! answer is with the kernel. All others may end: those that wait for a request, and those whose requests show nothing. The
//! network with the most of them loses one first, and of its connections the one that was last in use longest ago. So
//! strangers can only end the connections of strangers, however many they open and however busy they keep them.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gatehouse_net::Flushes;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};

/// Every open connection, by network.
#[derive(Debug)]
pub(crate) struct OpenConnections {
    /// One for each connection that may be open.
    pub(crate) permits: Arc<Semaphore>,
    most_of_network: usize,
    state: Mutex<State>,
    /// There may be a connection that is not in use: a new one, or one whose request is over.
    may_end: Notify,
    /// Held by the listener that makes room.
    making_room: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    numbers: u64,
    networks: HashMap<Origin, BTreeMap<u64, Open>>,
}

/// Where connections come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// A network of clients: bounded, and gives way before a proxy.
    Clients(IpAddr),
    /// A trusted proxy, which carries many clients.
    Proxy(IpAddr),
    /// An address that has too many, or whose network has: it is told so and closed, and is the first to give way.
    Refused(IpAddr),
}

#[derive(Debug)]
struct Open {
    /// Requests with a key under way.
    in_use: usize,
    /// When it was accepted or last in use, by number.
    last_used: u64,
    /// Dropped to end the connection.
    _end: oneshot::Sender<()>,
}

/// One connection's entry, removed when dropped.
pub(crate) struct OpenConnection {
    pub(crate) origin: Origin,
    number: u64,
    /// Says when the bytes written on it have left.
    pub(crate) flushes: Flushes,
    connections: Arc<OpenConnections>,
}

/// A request with a key, for as long as anything holds it: its access record, and the bytes of its answer that hyper has not
/// written yet. The connection stays in use until what was written has left, too.
pub(crate) struct InUse(Arc<OpenConnection>);

/// The end of a use, when dropped.
struct Release(Arc<OpenConnection>);

impl OpenConnections {
    /// At most `most` of them, of one network at most `most_of_network`.
    pub(crate) fn new(most: usize, most_of_network: usize) -> Arc<Self> {
        Arc::new(Self {
            permits: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))),
            most_of_network,
            state: Mutex::default(),
            may_end: Notify::new(),
            making_room: tokio::sync::Mutex::default(),
        })
    }

    /// The permit of one more connection. Where all are taken, a connection that is not in use ends, now or as soon as there
    /// is one.
    ///
    /// Only one listener at a time makes room. A free permit goes to the one that waits longest; if that were not the one
    /// that ended a connection for it, the latter would wait on, and end no other.
    pub(crate) async fn permit(&self) -> OwnedSemaphorePermit {
        let _alone = self.making_room.lock().await;
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return permit;
        }
        let mut has_ended = self.end_one();
        let permit = Arc::clone(&self.permits).acquire_owned();
        tokio::pin!(permit);
        loop {
            tokio::select! {
                permit = &mut permit => return permit.expect("the semaphore is never closed"),
                () = self.may_end.notified(), if !has_ended => has_ended = self.end_one(),
            }
        }
    }

    /// Counts a new connection. The receiver ends when the connection has to. At the bound of its network another of that
    /// network ends; `None` where all of them are in use.
    pub(crate) fn enter(
        self: &Arc<Self>,
        origin: Origin,
    ) -> Option<(Arc<OpenConnection>, oneshot::Receiver<()>)> {
        let mut state = self.state();
        let of_network = state.networks.entry(origin).or_default();
        let is_bounded = matches!(origin, Origin::Clients(_));
        if is_bounded && of_network.len() >= self.most_of_network && !end_oldest(of_network) {
            return None;
        }
        let (end, ended) = oneshot::channel();
        let number = state.next();
        let open = Open { in_use: 0, last_used: number, _end: end };
        state.networks.entry(origin).or_default().insert(number, open);
        self.may_end.notify_one();
        let connections = Arc::clone(self);
        Some((Arc::new(OpenConnection { origin, number, flushes: Flushes::default(), connections }), ended))
    }

    /// Ends a connection that is not in use. Returns false if all are in use.
    fn end_one(&self) -> bool {
        let mut state = self.state();
        let unused = |open: &BTreeMap<u64, Open>| open.values().filter(|open| open.in_use == 0).count();
        let rank = |origin: &Origin| match origin {
            Origin::Proxy(_) => 0,
            Origin::Clients(_) => 1,
            Origin::Refused(_) => 2,
        };
        let heaviest = state
            .networks
            .iter()
            .map(|(origin, open)| ((rank(origin), unused(open)), *origin))
            .filter(|((_, unused), _)| *unused > 0)
            .max_by_key(|(rank, _)| *rank);
        let Some((_, origin)) = heaviest else { return false };
        state.networks.get_mut(&origin).is_some_and(end_oldest)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the connection of a network that was not in use for the longest time.
fn end_oldest(open: &mut BTreeMap<u64, Open>) -> bool {
    let unused = open.iter().filter(|(_, open)| open.in_use == 0);
    let Some(number) = unused.min_by_key(|(_, open)| open.last_used).map(|(number, _)| *number) else {
        return false;
    };
    open.remove(&number).is_some()
}

impl State {
    fn next(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}

impl OpenConnection {
    /// Counts a request with a key: the connection does not end for another before the answer has left.
    pub(crate) fn begin_use(self: &Arc<Self>) -> InUse {
        self.change(|open, _| open.in_use += 1);
        InUse(Arc::clone(self))
    }

    fn change(&self, change: impl FnOnce(&mut Open, u64)) {
        let mut state = self.connections.state();
        let now = state.next();
        // A connection that was told to end has no entry any more.
        if let Some(open) =
            state.networks.get_mut(&self.origin).and_then(|network| network.get_mut(&self.number))
        {
            change(open, now);
        }
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.flushes.drop_after(Box::new(Release(Arc::clone(&self.0))));
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        self.0.change(|open, now| {
            open.in_use -= 1;
            open.last_used = now;
        });
        self.0.connections.may_end.notify_one();
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let mut state = self.connections.state();
        if let Some(network) = state.networks.get_mut(&self.origin) {
            network.remove(&self.number);
            if network.is_empty() {
                state.networks.remove(&self.origin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use futures_util::FutureExt as _;
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;

    type Entered = (Arc<OpenConnection>, oneshot::Receiver<()>);

    fn from(network: u8) -> Origin {
        Origin::Clients(IpAddr::from([198, 51, network, 0]))
    }

    fn has_ended((_, end): &mut Entered) -> bool {
        end.try_recv() == Err(TryRecvError::Closed)
    }

    fn enter(connections: &Arc<OpenConnections>, network: u8) -> Entered {
        connections.enter(from(network)).unwrap()
    }

    #[test]
    fn the_one_unused_for_longest_gives_way_and_keyless_requests_are_no_use() {
        let connections = OpenConnections::new(1000, 100);
        let mut all: Vec<Entered> = (0..3).map(|_| enter(&connections, 1)).collect();
        drop(all[0].0.begin_use());
        let request = all[1].0.begin_use();
        assert!(connections.end_one());
        assert_eq!(all.iter_mut().map(has_ended).collect::<Vec<_>>(), [false, false, true]);
        assert!(connections.end_one());
        assert_eq!(all.iter_mut().map(has_ended).collect::<Vec<_>>(), [true, false, true]);
        assert!(!connections.end_one(), "the last is in use");
        drop(request);
        assert!(connections.end_one());
    }

    type Waiting<'a> = Pin<Box<dyn Future<Output = OwnedSemaphorePermit> + Send + 'a>>;

    /// Its permit, if it has one now.
    fn permit_of(listener: &mut Waiting<'_>) -> Option<OwnedSemaphorePermit> {
        match listener.poll_unpin(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(permit) => Some(permit),
            Poll::Pending => None,
        }
    }

    /// Two listeners wait while the only connection has two requests. The end of the first request makes one listener look in
    /// vain, so that it stands behind the other when the second request ends. If both made room at once, one would end the
    /// connection, the other would get the permit, and the former would never end a connection again.
    #[test]
    fn a_listener_makes_room_until_it_has_its_own_permit() {
        let connections = OpenConnections::new(1, 100);
        let permit = connections.permit().now_or_never().unwrap();
        let mut only = enter(&connections, 1);
        let mut uses = vec![only.0.begin_use(), only.0.begin_use()];
        let mut listeners: Vec<Waiting<'_>> =
            vec![Box::pin(connections.permit()), Box::pin(connections.permit())];
        let waits = |listener: &mut Waiting<'_>| permit_of(listener).is_none();
        while !uses.is_empty() {
            assert!(listeners.iter_mut().all(waits) && !has_ended(&mut only));
            uses.pop();
            assert!(listeners.iter_mut().all(waits));
        }
        assert!(has_ended(&mut only));
        drop((permit, only));
        let (first, permit) = listeners
            .iter_mut()
            .enumerate()
            .find_map(|(number, listener)| Some((number, permit_of(listener)?)))
            .expect("one has room");
        let mut next = enter(&connections, 1);
        drop(listeners.remove(first));
        assert!(listeners.iter_mut().all(waits));
        assert!(has_ended(&mut next), "the new connection is not in use, either");
        drop((permit, next));
        assert!(!listeners.iter_mut().any(waits));
    }

    /// Without it a connection that waits to be refused would outlive one that could be served.
    #[test]
    fn a_refused_connection_gives_way_before_all_others() {
        let connections = OpenConnections::new(1000, 100);
        let mut served: Vec<Entered> = (0..2).map(|_| enter(&connections, 1)).collect();
        let mut refused = connections.enter(Origin::Refused(IpAddr::from([198, 51, 1, 7]))).unwrap();
        assert!(connections.end_one());
        assert!(has_ended(&mut refused) && !served.iter_mut().any(has_ended));
        assert!(connections.end_one());
        assert!(has_ended(&mut served[0]));
    }

    #[test]
    fn the_network_with_most_gives_way_first_and_a_proxy_last() {
        let connections = OpenConnections::new(1000, 100);
        let mut proxied: Vec<Entered> =
            (0..9).map(|_| connections.enter(Origin::Proxy(IpAddr::from([10, 0, 0, 1]))).unwrap()).collect();
        let mut honest = enter(&connections, 1);
        let mut many: Vec<Entered> = (0..5).map(|_| enter(&connections, 2)).collect();
        for _ in 0..4 {
            assert!(connections.end_one());
        }
        assert!(!has_ended(&mut honest), "the first that came, of the network with fewest");
        assert_eq!(many.iter_mut().filter_map(|one| has_ended(one).then_some(())).count(), 4);
        assert!(connections.end_one() && connections.end_one());
        assert!(has_ended(&mut honest) && !proxied.iter_mut().any(has_ended));
        assert!(connections.end_one());
        assert!(has_ended(&mut proxied[0]));
    }

    #[test]
    fn a_network_at_its_bound_makes_room_itself() {
        let connections = OpenConnections::new(1000, 2);
        let (mut other, mut first, second) =
            (enter(&connections, 1), enter(&connections, 2), enter(&connections, 2));
        let mut third = enter(&connections, 2);
        assert!(has_ended(&mut first) && !has_ended(&mut third) && !has_ended(&mut other));
        let _uses = [second.0.begin_use(), third.0.begin_use()];
        assert!(connections.enter(from(2)).is_none(), "all of them are in use");
        assert!(connections.enter(from(3)).is_some());
    }

    #[test]
    fn an_ended_connection_leaves_nothing() {
        let connections = OpenConnections::new(1000, 1);
        for _ in 0..3 {
            let entered = enter(&connections, 1);
            let request = entered.0.begin_use();
            assert!(!connections.end_one());
            drop((entered, request));
        }
        assert!(connections.state().networks.is_empty());
    }
}
