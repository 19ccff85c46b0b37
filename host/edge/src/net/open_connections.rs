//! The open connections of all listeners, and which one gives way to a new one. Never touches a socket.
//!
//! A connection is in use while it carries a request that showed a key, or a signed link. Every other one may give way: one
//! that waits for a request, one that asks for what needs no key, one whose client takes no answer. The one that was not in
//! use for the longest time does, of the network that has most of such connections. So strangers who keep connections
//! open, however they keep them busy, push out each other's and leave those of keys alone.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

/// Every open connection, by network.
#[derive(Debug)]
pub(crate) struct OpenConnections {
    most_of_network: usize,
    state: Mutex<State>,
    /// A connection is in use no more.
    released: Notify,
}

#[derive(Debug, Default)]
struct State {
    numbers: u64,
    networks: HashMap<Origin, BTreeMap<u64, Open>>,
}

/// Where connections come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// A network of clients: bounded, and the first to give way.
    Clients(IpAddr),
    /// A trusted proxy, which carries many clients.
    Proxy(IpAddr),
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
#[derive(Debug)]
pub(crate) struct OpenConnection {
    origin: Origin,
    number: u64,
    connections: Arc<OpenConnections>,
}

/// A request with a key, on its connection, until its response has left.
#[derive(Debug)]
pub(crate) struct InUse(Arc<OpenConnection>);

impl OpenConnections {
    pub(crate) fn new(most_of_network: usize) -> Arc<Self> {
        Arc::new(Self { most_of_network, state: Mutex::default(), released: Notify::new() })
    }

    /// Counts a new connection; the receiver ends when it has to give way. At the bound of its network another of that
    /// network gives way; `None` where all of them are in use.
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
        Some((Arc::new(OpenConnection { origin, number, connections: Arc::clone(self) }), ended))
    }

    /// Ends a connection that is not in use. Returns false if all are in use.
    pub(crate) fn end_one(&self) -> bool {
        let mut state = self.state();
        let unused = |open: &BTreeMap<u64, Open>| open.values().filter(|open| open.in_use == 0).count();
        let is_proxy = |origin: &Origin| matches!(origin, Origin::Proxy(_));
        let heaviest = state
            .networks
            .iter()
            .map(|(origin, open)| ((!is_proxy(origin), unused(open)), *origin))
            .filter(|((_, unused), _)| *unused > 0)
            .max_by_key(|(rank, _)| *rank);
        let Some((_, origin)) = heaviest else { return false };
        state.networks.get_mut(&origin).is_some_and(end_oldest)
    }

    /// Returns once a connection is in use no more, which may have been before.
    pub(crate) async fn released(&self) {
        self.released.notified().await;
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
    /// Counts a request with a key: the connection gives way to no other before its response has left.
    pub(crate) fn begin_use(self: &Arc<Self>) -> InUse {
        self.change(|open, _| open.in_use += 1);
        InUse(Arc::clone(self))
    }

    fn change(&self, change: impl FnOnce(&mut Open, u64)) {
        let mut state = self.connections.state();
        let now = state.next();
        // A connection that gave way has no entry any more.
        if let Some(open) =
            state.networks.get_mut(&self.origin).and_then(|network| network.get_mut(&self.number))
        {
            change(open, now);
        }
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.change(|open, now| {
            open.in_use -= 1;
            open.last_used = now;
        });
        self.0.connections.released.notify_one();
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
        let connections = OpenConnections::new(100);
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

    #[test]
    fn the_network_with_most_gives_way_first_and_a_proxy_last() {
        let connections = OpenConnections::new(100);
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
        let connections = OpenConnections::new(2);
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
        let connections = OpenConnections::new(1);
        for _ in 0..3 {
            let entered = enter(&connections, 1);
            let request = entered.0.begin_use();
            assert!(!connections.end_one());
            drop((entered, request));
        }
        assert!(connections.state().networks.is_empty());
    }
}
