//! The server of a simulation: a file that the stores of several gateways share, with the lock, the epoch, the batch and the lease that a
//! database has. Each trip of a gateway ends as the simulation says. What is above it, from the sessions on, is what runs over PostgreSQL.

use std::collections::{BTreeMap, HashSet};
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use gatehouse_tasks::{Backend as _, HoldId, List, RowChange, RowKey};
use redb::{Database, ReadableDatabase as _};
use tokio::sync::watch;
use tokio::time as clock;

use super::engine::{Found, LISTED, Wanted};
use super::failure::{ConnectError, SessionError};
use super::fleet::{Begun, Held, HeldLease, Node, Renewal};
use super::session::Sent;
use crate::engine::rows::FileEngine;
use crate::error::StoreError;
use crate::layout;
use crate::lease::{LENGTH, Moment};
use crate::wait::WriterWait;

/// A connection that hears nothing for so long is given up.
const SILENCE: Duration = Duration::from_secs(10);

/// What a gateway asks of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trip {
    /// A batch is committed.
    Commit,
    /// A session begins.
    Connect,
    /// A session ends, of either side.
    End,
    /// Rows are fetched.
    Fetch,
    /// The lease is renewed.
    Renew,
    /// Anything else.
    Other,
}

/// How a trip ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TripEnd {
    /// It arrives after the first time, and is answered after the second.
    Answered(Duration, Duration),
    /// The connection is closed before it arrives.
    Lost,
    /// It is done, and the connection is closed before the answer.
    AnswerLost,
    /// It does not arrive, and nobody is told.
    Silent,
    /// It is done, no answer comes, and nobody is told.
    AnswerSilent,
}

impl TripEnd {
    /// At once.
    pub const FINE: Self = Self::Answered(Duration::ZERO, Duration::ZERO);
}

/// A fault of the store that a simulation has to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedFault {
    /// The one at work begins what it likes, whatever became of its lease and session.
    EffectsGoOn,
    /// The lease is counted from the answer to a renewal.
    LeaseFromAnswer,
    /// A batch is committed whatever its epoch is.
    NoFence,
}

type Network = Box<dyn Fn(&str, Trip) -> TripEnd + Send + Sync>;

/// The server.
pub struct SimulatedServer {
    database: Arc<Database>,
    /// What its clock shows, in milliseconds.
    now: Box<dyn Fn() -> u64 + Send + Sync>,
    network: Network,
    fault: Option<PlantedFault>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of the last session that began.
    last: i32,
    /// Those that have not ended, each with the name of its gateway and what tells it.
    sessions: BTreeMap<i32, (String, watch::Sender<bool>)>,
    /// The session that has it.
    lock: Option<i32>,
    epoch: i64,
    batch: i64,
    lease: Option<Lease>,
    /// Batches of an epoch that was over.
    late: usize,
}

#[derive(Clone)]
struct Lease {
    epoch: i64,
    node: Node,
    session: i32,
    expires: u64,
}

impl SimulatedServer {
    /// Over an open file.
    pub(crate) fn new(
        database: Arc<Database>,
        now: impl Fn() -> u64 + Send + Sync + 'static,
        network: impl Fn(&str, Trip) -> TripEnd + Send + Sync + 'static,
        fault: Option<PlantedFault>,
    ) -> Self {
        let (now, network) = (Box::new(now), Box::new(network));
        Self { database, now, network, fault, state: Mutex::default() }
    }

    pub(crate) fn database(&self) -> Arc<Database> {
        Arc::clone(&self.database)
    }

    /// For how long, by its clock and in milliseconds, the lease of the gateway of that name was not renewed; `None` where it has no lease.
    #[must_use]
    pub fn lease_age(&self, name: &str) -> Option<u64> {
        let (state, now) = (self.state(), (self.now)());
        let lease = state.lease.as_ref().filter(|lease| lease.epoch == state.epoch);
        let lease = lease.filter(|lease| lease.node.name == name)?;
        Some((now + millis(LENGTH)).saturating_sub(lease.expires))
    }

    /// Batches that a gateway committed after another one had taken its place.
    #[must_use]
    pub fn late_batches(&self) -> usize {
        self.state().late
    }

    /// Ends all sessions, as a restart does, or those of one gateway, as a proxy between does; each gateway is told.
    pub fn end_sessions(&self, of: Option<&str>) {
        let mut state = self.state();
        let ended: Vec<i32> = state
            .sessions
            .iter()
            .filter(|(_, (name, _))| of.is_none_or(|of| of == name))
            .map(|(number, _)| *number)
            .collect();
        for number in ended {
            if let Some((_, ended)) = state.end(number) {
                ended.send_replace(true);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn end(&mut self, session: i32) -> Option<(String, watch::Sender<bool>)> {
        self.lock.take_if(|holder| *holder == session);
        self.sessions.remove(&session)
    }
}

/// The way of one gateway to the server.
#[derive(Clone)]
pub(crate) struct SimulatedNode {
    server: Arc<SimulatedServer>,
    name: String,
    /// Of the store at work.
    wait: Option<Arc<WriterWait>>,
}

/// A session of a gateway.
pub(crate) struct SimulatedSession {
    node: SimulatedNode,
    number: i32,
    /// Set once the gateway knows that it has ended.
    ended: watch::Sender<bool>,
}

impl SimulatedNode {
    pub(crate) fn new(server: Arc<SimulatedServer>, name: String, wait: Option<Arc<WriterWait>>) -> Self {
        Self { server, name, wait }
    }

    fn has(&self, fault: PlantedFault) -> bool {
        self.server.fault == Some(fault)
    }

    pub(super) async fn connect(&self) -> Result<(SimulatedSession, watch::Receiver<bool>), ConnectError> {
        let refused = || ConnectError { reason: "no connection".to_owned(), passes: true };
        let begin = || {
            let mut state = self.server.state();
            state.last += 1;
            let number = state.last;
            let ended = watch::Sender::new(false);
            state.sessions.insert(number, (self.name.clone(), ended.clone()));
            SimulatedSession { node: self.clone(), number, ended }
        };
        match (self.server.network)(&self.name, Trip::Connect) {
            TripEnd::Answered(there, back) => {
                pause(there + back).await;
                let session = begin();
                let told = session.ended.subscribe();
                Ok((session, told))
            }
            TripEnd::Lost | TripEnd::AnswerLost => Err(refused()),
            TripEnd::Silent | TripEnd::AnswerSilent => {
                pause(SILENCE / 2).await;
                Err(refused())
            }
        }
    }
}

impl SimulatedSession {
    pub(super) fn is_closed(&self) -> bool {
        *self.ended.borrow()
    }

    /// Does something at the server.
    async fn trip<T>(&self, trip: Trip, act: impl FnOnce(&mut State, u64) -> T) -> Result<T, SessionError> {
        if self.is_closed() {
            return Err(self.closed());
        }
        match (self.node.server.network)(&self.node.name, trip) {
            TripEnd::Answered(there, back) => {
                pause(there).await;
                let done = self.at_server(act)?;
                pause(back).await;
                Ok(done)
            }
            TripEnd::Lost => {
                self.node.server.state().end(self.number);
                Err(self.closed())
            }
            TripEnd::AnswerLost => {
                self.at_server(act)?;
                self.node.server.state().end(self.number);
                Err(self.closed())
            }
            TripEnd::Silent => self.silence().await,
            TripEnd::AnswerSilent => {
                self.at_server(act)?;
                self.silence().await
            }
        }
    }

    /// The gateway gives the connection up at last; the server knows nothing of that.
    async fn silence<T>(&self) -> Result<T, SessionError> {
        pause(SILENCE).await;
        Err(self.closed())
    }

    fn at_server<T>(&self, act: impl FnOnce(&mut State, u64) -> T) -> Result<T, SessionError> {
        let mut state = self.node.server.state();
        if !state.sessions.contains_key(&self.number) {
            return Err(self.closed());
        }
        Ok(act(&mut state, (self.node.server.now)()))
    }

    fn closed(&self) -> SessionError {
        self.ended.send_replace(true);
        SessionError { reason: "connection closed".to_owned(), passes: true }
    }

    pub(super) async fn lock(&self) -> Result<bool, SessionError> {
        self.trip(Trip::Other, |state, _| *state.lock.get_or_insert(self.number) == self.number).await
    }

    pub(super) async fn take(&self, node: &Node, ended: Option<i64>) -> Result<Option<Begun>, SessionError> {
        let taken = self.trip(Trip::Other, |state, now| {
            let lasts = |lease: &Lease| {
                lease.expires > now && lease.node.name != node.name && Some(lease.epoch) != ended
            };
            if state.lease.as_ref().is_some_and(lasts) {
                return None;
            }
            state.epoch += 1;
            let expires = now + millis(LENGTH);
            let lease = Lease { epoch: state.epoch, node: node.clone(), session: self.number, expires };
            state.lease = Some(lease);
            Some(Begun { epoch: state.epoch, batch: state.batch, session: self.number })
        });
        taken.await
    }

    pub(super) async fn open_holds(&self) -> Result<HashSet<HoldId>, StoreError> {
        let holds = self.trip(Trip::Fetch, |_, _| open_holds(&self.node.server.database)).await;
        holds.map_err(|error| error.of_store("open holds"))?
    }

    pub(super) async fn leave(&self, epoch: i64) -> Result<(), SessionError> {
        let leave = |state: &mut State, now| {
            if let Some(lease) = state.lease.as_mut().filter(|lease| lease.epoch == epoch) {
                (lease.expires, lease.epoch) = (now, 0);
            }
        };
        self.trip(Trip::Other, leave).await
    }

    pub(super) async fn fetch(&self, wanted: &Wanted) -> Result<Found, StoreError> {
        let database = &self.node.server.database;
        let found = self.trip(Trip::Fetch, |_, _| fetch(database, wanted)).await;
        found.map_err(|error| error.of_store("a fetch"))?
    }

    pub(super) async fn commit(
        &self,
        changes: &[RowChange],
        drop_before: u32,
        epoch: i64,
        batch: i64,
    ) -> Result<Sent, StoreError> {
        let commit = |state: &mut State, _| {
            let is_late = epoch != state.epoch;
            let fits = !is_late && batch == state.batch;
            if !fits && !self.node.has(PlantedFault::NoFence) {
                return Ok(Sent::Replaced);
            }
            let mut engine = engine(&self.node.server.database);
            engine.drop_before(drop_before);
            engine.commit(changes)?;
            state.batch += 1;
            state.late += usize::from(is_late);
            Ok(Sent::Committed)
        };
        self.trip(Trip::Commit, commit).await.map_err(|error| error.of_store("a commit"))?
    }

    pub(super) async fn end_session(&self, number: i32) -> Result<(), SessionError> {
        // Its lock is gone, and what it sends arrives all the same: the fence alone has to keep the rows right.
        let end = |state: &mut State, _| {
            state.lock.take_if(|holder| *holder == number);
        };
        self.trip(Trip::Other, end).await
    }

    pub(super) async fn position(&self) -> Result<Begun, SessionError> {
        let session = self.number;
        self.trip(Trip::Other, |state, _| Begun { epoch: state.epoch, batch: state.batch, session }).await
    }

    pub(super) async fn move_session(&self, epoch: i64) -> Result<bool, SessionError> {
        let moved = self.trip(Trip::Other, |state, _| {
            let lease = state.lease.as_mut().filter(|lease| lease.epoch == epoch);
            lease.map(|lease| lease.session = self.number).is_some()
        });
        moved.await
    }

    pub(super) async fn renew(&self, epoch: i64) -> Result<Renewal, SessionError> {
        let renew = |state: &mut State, now| {
            let lease = state.lease.as_mut().filter(|lease| lease.epoch == epoch);
            lease.map(|lease| lease.expires = now + millis(LENGTH)).is_some()
        };
        let renewed = self.trip(Trip::Renew, renew).await;
        if let Some(wait) = &self.node.wait {
            match &renewed {
                Ok(true) if self.node.has(PlantedFault::LeaseFromAnswer) => wait.renew_lease(wait.now()),
                // Long after every simulation.
                _ if self.node.has(PlantedFault::EffectsGoOn) => {
                    wait.renew_lease(Moment::at(SILENCE * 1_000_000));
                }
                _ => {}
            }
        }
        renewed.map(|stands| Renewal { stands, is_doubled: false })
    }

    pub(super) async fn look(&self) -> Result<Held, SessionError> {
        let look = |state: &mut State, now: u64| Held {
            lease: state.lease.clone().map(|lease| HeldLease {
                epoch: lease.epoch,
                node: lease.node,
                left: lease.expires.cast_signed() - now.cast_signed(),
            }),
            locked: state.lock.is_some(),
            by_holder: state.lock.is_some() && state.lock == state.lease.as_ref().map(|lease| lease.session),
        };
        self.trip(Trip::Other, look).await
    }

    pub(super) async fn end(&self) -> Result<(), SessionError> {
        let end = |state: &mut State, now| {
            let Some(lease) = state.lease.as_mut().filter(|lease| lease.expires < now) else { return };
            lease.epoch = 0;
            let session = lease.session;
            // As in `end_session`.
            state.lock.take_if(|holder| *holder == session);
        };
        self.trip(Trip::Other, end).await
    }
}

impl Drop for SimulatedSession {
    fn drop(&mut self) {
        let end = (self.node.server.network)(&self.node.name, Trip::End);
        if !matches!(end, TripEnd::Silent | TripEnd::AnswerSilent) {
            self.node.server.state().end(self.number);
        }
    }
}

/// A store that is simulated counts its lease by the clock of its runtime.
pub(crate) fn moment() -> Moment {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let now = clock::Instant::now().into_std();
    Moment::at(now.saturating_duration_since(*ORIGIN.get_or_init(|| now)))
}

async fn pause(span: Duration) {
    if !span.is_zero() {
        drop(clock::timeout(span, pending::<()>()).await);
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn engine(database: &Arc<Database>) -> FileEngine {
    FileEngine::new(Arc::clone(database), Arc::default())
}

fn fetch(database: &Arc<Database>, wanted: &Wanted) -> Result<Found, StoreError> {
    let engine = engine(database);
    let row = |key: &RowKey| Ok((key.clone(), engine.fetch(key)?));
    let rows = wanted.keys.iter().map(row).collect::<Result<_, StoreError>>()?;
    let list = |(list, from): (&List, &Option<(u64, RowKey)>)| {
        let mut entries: Vec<(u64, RowKey)> = Vec::new();
        while entries.len() < LISTED
            && let Some(entry) =
                engine.first(list, from.as_ref(), &|key| entries.iter().any(|(_, listed)| listed == key))?
        {
            entries.push(entry);
        }
        Ok((list.clone(), entries))
    };
    let lists = wanted.lists.iter().map(list).collect::<Result<_, StoreError>>()?;
    let days = wanted.days.then(|| engine.days()).transpose()?;
    Ok(Found { rows, lists, days })
}

fn open_holds(database: &Database) -> Result<HashSet<HoldId>, StoreError> {
    let mut holds = HashSet::new();
    layout::HOLDS.each(&database.begin_read()?, |hold| {
        holds.insert(hold.id);
        Ok(())
    })?;
    Ok(holds)
}
