//! What the writer waits for: room on its disk, or an engine that can be reached again. What it waits with is late, not lost.
//!
//! redb is of no more use after one failed write: nothing can be read from it either, until the file is opened again.
//! So a write for which the disk has no room is no failure here: it is tried again until there is room. redb's file can always
//! be reached; an engine behind a network cannot for a while, and is asked before each access. Reads
//! never wait. Only [`WriterWait::close`] ends a wait with its error.

use std::io::{self, ErrorKind};
use std::pin::pin;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use gatehouse_model::metric;
use tokio::sync::{Notify, watch};
use tokio::time as clock;

use crate::error::StoreError;
use crate::lease::{Lease, Moment};

/// Between two tries of a write.
const RETRY: Duration = Duration::from_millis(250);
/// Between two looks for the engine: the first one, doubled up to the last.
const LOOKS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// How long what waits for another session of the writer does, at most.
const MOMENT: Duration = Duration::from_secs(1);

/// What is about to be done with the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// What a transaction changed is made durable.
    Commit,
    /// A row is fetched that a command has to know.
    Fetch,
    /// Rows are read.
    Read,
}

/// The time between two looks for the engine, longer each time.
pub(crate) struct Pause(Duration);

impl Default for Pause {
    fn default() -> Self {
        Self(LOOKS.0)
    }
}

impl Pause {
    fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = pause.saturating_mul(2).min(LOOKS.1);
        pause
    }
}

type Asked = Box<dyn Fn(Access) -> bool + Send + Sync>;

/// Whether one store can write now, and why not.
pub(crate) struct WriterWait {
    closing: Mutex<bool>,
    closed: Condvar,
    closed_engine: Notify,
    /// What is answered meanwhile; none while nothing is waited for.
    waits: watch::Sender<Option<StoreError>>,
    /// Whether the engine can be reached; none where it always can.
    engine: OnceLock<Asked>,
    /// The clock of the lease.
    clock: fn() -> Moment,
    /// None of a store that no other process can write to.
    lease: OnceLock<Lease>,
    /// Whether the session has ended by which this process is the only writer; none where it needs none.
    session: Mutex<Option<watch::Receiver<bool>>>,
    /// Told of each session.
    began: Notify,
}

impl std::fmt::Debug for WriterWait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriterWait").field("waits", &*self.waits.borrow()).finish_non_exhaustive()
    }
}

impl Default for WriterWait {
    fn default() -> Self {
        Self {
            closing: Mutex::default(),
            closed: Condvar::new(),
            closed_engine: Notify::new(),
            waits: watch::Sender::new(None),
            engine: OnceLock::new(),
            clock: Moment::now,
            lease: OnceLock::new(),
            session: Mutex::default(),
            began: Notify::new(),
        }
    }
}

impl WriterWait {
    /// Counts the lease by that clock.
    pub(crate) fn by(clock: fn() -> Moment) -> Self {
        Self { clock, ..Self::default() }
    }

    /// What the clock of the lease shows.
    pub(crate) fn now(&self) -> Moment {
        (self.clock)()
    }

    /// Makes a change of the file, as often as it takes; blocks meanwhile.
    ///
    /// # Errors
    /// Those of the change, except for a full disk while the store is open.
    pub(crate) fn change(&self, mut change: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        loop {
            match change() {
                Err(error) if is_full(&error) => {
                    let closing = self.closing();
                    if *closing {
                        return Err(error);
                    }
                    self.wait_for(StoreError::NoRoom, &error);
                    // Returns early only for the end of the store, which the next round sees.
                    drop(self.closed.wait_timeout(closing, RETRY).unwrap_or_else(PoisonError::into_inner));
                }
                outcome => {
                    if outcome.is_ok() {
                        self.go_on();
                    }
                    return outcome;
                }
            }
        }
    }

    /// Has `asked` say before each access from now on whether the engine can be reached.
    pub(crate) fn ask_engine(&self, asked: impl Fn(Access) -> bool + Send + Sync + 'static) {
        // The first one stays.
        drop(self.engine.set(Box::new(asked)));
    }

    /// Whether the engine may be gone at any moment.
    pub(crate) fn may_be_away(&self) -> bool {
        self.engine.get().is_some()
    }

    /// # Errors
    /// [`StoreError::Unavailable`].
    pub(crate) fn reach(&self, access: Access) -> Result<(), StoreError> {
        match self.engine.get() {
            Some(asked) if !asked(access) => Err(StoreError::Unavailable),
            _ if access == Access::Read && !self.lease_stands() => Err(StoreError::Unavailable),
            _ => Ok(()),
        }
    }

    /// Ends once the engine can be reached.
    ///
    /// # Errors
    /// The store is being closed, and it cannot.
    pub(crate) async fn until_reached(&self, access: Access) -> Result<(), StoreError> {
        let mut pause = Pause::default();
        while self.reach(access).is_err() {
            self.lose(&format_args!("at {access:?}"));
            self.pause(&mut pause).await?;
        }
        self.go_on();
        Ok(())
    }

    /// Everyone is told that the engine cannot be reached, until [`WriterWait::go_on`].
    pub(crate) fn lose(&self, cause: &dyn std::fmt::Display) {
        self.wait_for(StoreError::Unavailable, cause);
    }

    /// Ends when it is time to look for the engine again.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] once the store is being closed.
    pub(crate) async fn pause(&self, pause: &mut Pause) -> Result<(), StoreError> {
        if self.is_closing() {
            return Err(StoreError::Unavailable);
        }
        // The end of the store, too, ends the pause.
        drop(clock::timeout(pause.next(), self.closed_engine.notified()).await);
        Ok(())
    }

    /// Why nothing is written now, if so.
    pub(crate) fn waits(&self) -> Option<StoreError> {
        self.reason().or_else(|| (!self.lease_stands()).then_some(StoreError::Unavailable))
    }

    fn reason(&self) -> Option<StoreError> {
        self.waits.borrow().clone()
    }

    /// From now on nothing begins that could meet what another process does.
    pub(crate) fn begin_lease(&self, sent: Moment) {
        // A store is opened once.
        drop(self.lease.set(Lease::sent(sent)));
    }

    /// A renewal that was sent at this moment has succeeded.
    pub(crate) fn renew_lease(&self, sent: Moment) {
        if let Some(lease) = self.lease.get() {
            lease.renew(sent);
        }
    }

    /// Whether something with effects may begin; always where nobody else waits for the place of this process.
    pub(crate) fn lease_stands(&self) -> bool {
        self.lease.get().is_none_or(|lease| lease.stands(self.now()))
    }

    /// The writer has this session now, and hears whether it has ended.
    pub(crate) fn follow_session(&self, ended: watch::Receiver<bool>) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
        self.began.notify_waiters();
    }

    /// Ends once what cannot be taken back may begin: a standby may take over at once where the session of the writer has ended. Another
    /// session begins in a moment, unless the server is away.
    ///
    /// # Errors
    /// Why nothing is written now; [`StoreError::Unavailable`].
    pub(crate) async fn until_it_may_begin(&self) -> Result<(), StoreError> {
        if self.may_begin() {
            return Ok(());
        }
        let began = async {
            loop {
                let mut began = pin!(self.began.notified());
                began.as_mut().enable();
                match self.waits() {
                    Some(reason) => return Err(reason),
                    None if self.may_begin() => return Ok(()),
                    None => {}
                }
                tokio::select! {
                    () = began => {}
                    reason = self.until_waiting() => return Err(reason),
                }
            }
        };
        clock::timeout(MOMENT, began).await.unwrap_or(Err(StoreError::Unavailable))
    }

    fn may_begin(&self) -> bool {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = session.as_ref().is_some_and(|ended| *ended.borrow());
        !ended && self.lease_stands()
    }

    /// What is left of the lease by the latest.
    pub(crate) fn lease_left(&self) -> Duration {
        self.lease.get().map(|lease| lease.left(self.now())).unwrap_or_default()
    }

    /// Ends when the writer waits, with the reason.
    pub(crate) async fn until_waiting(&self) -> StoreError {
        let mut waits = self.waits.subscribe();
        let seen = waits.wait_for(Option::is_some).await;
        // The sender lives as long as `self`, so the wait ends by a reason only.
        seen.ok().and_then(|reason| reason.clone()).unwrap_or(StoreError::Closed)
    }

    /// What cannot be written fails from now on: a store that is being closed cannot wait.
    pub(crate) fn close(&self) {
        *self.closing() = true;
        self.closed.notify_all();
        self.closed_engine.notify_one();
    }

    /// Ends once the store is being closed.
    pub(crate) async fn closed(&self) {
        while !self.is_closing() {
            self.closed_engine.notified().await;
        }
    }

    /// Whether nothing is waited for any more.
    pub(crate) fn is_closing(&self) -> bool {
        *self.closing()
    }

    fn closing(&self) -> MutexGuard<'_, bool> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One line in the log at the beginning of a wait, and one at its end, however many callers are refused meanwhile.
    fn wait_for(&self, reason: StoreError, cause: &dyn std::fmt::Display) {
        let (gauge, is_full) = (gauge_of(&reason), reason == StoreError::NoRoom);
        if !self.set(Some(reason)) {
            return;
        }
        metrics::gauge!(gauge).set(1.0);
        if is_full {
            tracing::error!(error = %cause, "the store's disk is full: nothing can be written until it has room, reads go on");
        } else {
            tracing::error!(%cause, "the store cannot be reached: new work is refused until it can, what is under way waits");
        }
    }

    /// Nothing is waited for any more.
    pub(crate) fn go_on(&self) {
        let Some(reason) = self.reason() else { return };
        self.set(None);
        metrics::gauge!(gauge_of(&reason)).set(0.0);
        if reason == StoreError::NoRoom {
            tracing::info!("the store's disk has room again: writing goes on");
        } else {
            tracing::info!("the store can be reached again: work goes on");
        }
    }

    /// Whether that is new.
    fn set(&self, reason: Option<StoreError>) -> bool {
        self.waits.send_if_modified(|before| {
            let changed = *before != reason;
            *before = reason;
            changed
        })
    }
}

fn gauge_of(reason: &StoreError) -> &'static str {
    if *reason == StoreError::NoRoom { metric::STORE_WAITS } else { metric::STORE_UNAVAILABLE }
}

/// The disk, or the owner's quota on it, has no room. A file that may not grow further is another matter: no other
/// file's end helps it.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gateway that was stopped for a while would go on with work that another one has taken over.
    #[test]
    fn nothing_is_begun_or_read_once_the_lease_may_be_over() {
        let wait = WriterWait::default();
        assert_eq!((wait.waits(), wait.reach(Access::Read)), (None, Ok(())));
        wait.begin_lease(Moment::START);
        let refused = StoreError::Unavailable;
        assert_eq!((wait.waits(), wait.reach(Access::Read)), (Some(refused.clone()), Err(refused)));
        // The writer finds out by the fence whether it may commit.
        assert_eq!(wait.reach(Access::Commit), Ok(()));
        wait.go_on();
        assert!(wait.waits().is_some());
        wait.renew_lease(Moment::now());
        assert_eq!((wait.waits(), wait.reach(Access::Read)), (None, Ok(())));
    }

    /// A standby would be at work beside this process; or each text after a session that ended for being idle would be refused.
    #[tokio::test]
    async fn nothing_begins_without_a_session_and_what_waits_begins_with_the_next_one() {
        let wait = WriterWait::default();
        assert_eq!(wait.until_it_may_begin().await, Ok(()), "a file needs none");
        let (first, ended) = watch::channel(false);
        wait.follow_session(ended);
        assert_eq!(wait.until_it_may_begin().await, Ok(()));
        first.send_replace(true);
        let (_second, ended) = watch::channel(false);
        let next = async {
            tokio::task::yield_now().await;
            assert!(!wait.may_begin());
            wait.follow_session(ended);
        };
        assert_eq!(tokio::join!(wait.until_it_may_begin(), next).0, Ok(()));
        let (third, ended) = watch::channel(false);
        wait.follow_session(ended);
        third.send_replace(true);
        let away = async {
            tokio::task::yield_now().await;
            wait.lose(&"away");
        };
        assert_eq!(tokio::join!(wait.until_it_may_begin(), away).0, Err(StoreError::Unavailable));
        assert_eq!(wait.until_it_may_begin().await, Err(StoreError::Unavailable), "at once");
    }
}
