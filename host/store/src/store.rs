//! The handle of the store: open, execute, fail, close.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};

use gatehouse_model::{TaskId, WebhookId};
use gatehouse_tasks::{Applied, Command, Rejection};
use redb::{Database, ReadTransaction, ReadableDatabase as _, StorageBackend};
use tokio::runtime::{self, Runtime};
use tokio::sync::{Semaphore, SemaphorePermit, mpsc, oneshot, watch};

use crate::changes::{TaskChanges, TaskListener};
use crate::config::Config;
use crate::disk_full::WaitingBackend;
use crate::error::{OpenError, StoreError};
use crate::home::Home;
use crate::open::database::{self, BACKEND};
use crate::open::{creation, schema};
use crate::posted::Posted;
use crate::postgres::reading::Reading;
use crate::postgres::session::Host;
use crate::postgres::simulated::{self, SimulatedNode};
use crate::postgres::{self, Node, PlantedFault, Server, SimulatedServer, Trip, TripEnd};
use crate::transaction::shared::{Direct, SharedTransaction};
use crate::wait::{Access, WriterWait};
use crate::writer::{Claim, Durability, Failure, Job, Work, Writer};

/// Reads of many rows at the same time; others wait.
const MAX_LONG_READS: usize = 2;

/// The durable storage. Cheap to clone; the file is closed by [`Store::close`] or with the last clone.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    open: RwLock<Option<Open>>,
    failure: Failure,
    changes: Arc<TaskChanges>,
    wait: Arc<WriterWait>,
    /// Permits for reads of many rows; `None` where the caller runs the writer and expects one thread.
    long_reads: Option<Semaphore>,
}

struct Open {
    source: Source,
    queue: mpsc::Sender<Job>,
    posted: Arc<Posted>,
    transaction: Arc<SharedTransaction>,
    /// As [`Store::tell_configuration`] has it; `None`: as the node of the opening.
    configuration: watch::Sender<Option<String>>,
    /// `None` where the caller runs the writer.
    writer: Option<JoinHandle<()>>,
}

/// Where reads go.
#[derive(Clone)]
pub(crate) enum Source {
    File(Arc<Database>),
    Postgres(Arc<Reading>),
}

impl Store {
    /// Opens the file, or makes it. The folder must exist.
    ///
    /// # Errors
    /// [`OpenError`]; [`OpenError::Locked`] while another process has the file.
    pub fn open(path: &Path, config: &Config) -> Result<Self, OpenError> {
        let wait = Arc::new(WriterWait::default());
        Self::of_file(database::in_file(path, config, &wait)?, path, config, wait)
    }

    /// Opens a database on PostgreSQL, whose tables are made where it is empty. Blocks meanwhile, whatever thread this is. `node` is what
    /// other gateways are told of this one, `ended` the epoch of a gateway whose end was seen, as [`Position::Free`] has it.
    ///
    /// [`Position::Free`]: crate::Position::Free
    ///
    /// # Errors
    /// [`OpenError`]; [`OpenError::Taken`] while another gateway writes to it, [`OpenError::Leased`] while one is about to again.
    pub fn open_postgres(
        server: Server,
        config: &Config,
        node: Node,
        ended: Option<i64>,
    ) -> Result<Self, OpenError> {
        let wait = Arc::<WriterWait>::default();
        let reading = Arc::new(Reading::new(server.clone())?);
        let mut clock = runtime::Builder::new_current_thread();
        clock.enable_all();
        let of_writer = Arc::clone(&wait);
        let opening = move |clock: &Runtime| {
            let home =
                clock.block_on(postgres::home::Home::open(Host::Postgres(server), node, ended, of_writer))?;
            Ok((Source::Postgres(reading), Home::Postgres(Box::new(home))))
        };
        Self::start(clock, opening, config, wait)
    }

    /// Whether another process has the file open.
    #[must_use]
    pub fn is_in_use(path: &Path) -> bool {
        creation::is_in_use(path)
    }

    /// Opens the store on any backend: in memory, or one that replays power cuts.
    ///
    /// # Errors
    /// [`OpenError`], as for a file.
    pub fn with_backend(backend: impl StorageBackend, config: &Config) -> Result<Self, OpenError> {
        let wait = Arc::new(WriterWait::default());
        let backend = WaitingBackend::new(backend, Arc::clone(&wait));
        Self::of_file(database::on_backend(backend, config)?, Path::new(BACKEND), config, wait)
    }

    /// The same without a thread: the caller runs the writer with [`Writer::run_batch`]. For simulations, where
    /// everything happens in one thread and in a repeatable order. Nobody waits there for room on a full disk, which is
    /// a failure like any other.
    ///
    /// # Errors
    /// [`OpenError`], as for a file.
    pub fn with_writer(backend: impl StorageBackend, config: &Config) -> Result<(Self, Writer), OpenError> {
        let (changes, wait) = Default::default();
        let (source, home) = file(database::on_backend(backend, config)?, Path::new(BACKEND), &wait)?;
        let (open, failure, writer) = Self::joined(source, home, config, &changes, &wait);
        Ok((Self::of(open, failure, changes, wait, None), writer))
    }

    /// The server of a simulation, over a backend. It asks for the time in milliseconds, and what becomes of each trip of a gateway, which
    /// is given by its name.
    ///
    /// # Errors
    /// [`OpenError`], as for a file.
    pub fn simulated_server(
        backend: impl StorageBackend,
        now: impl Fn() -> u64 + Send + Sync + 'static,
        network: impl Fn(&str, Trip) -> TripEnd + Send + Sync + 'static,
        fault: Option<PlantedFault>,
    ) -> Result<Arc<SimulatedServer>, OpenError> {
        let database = database::on_backend(backend, &Config::default())?;
        schema::prepare(&database, Path::new(BACKEND))?;
        Ok(Arc::new(SimulatedServer::new(Arc::new(database), now, network, fault)))
    }

    /// As [`Store::open_postgres`], at the server of a simulation. The caller runs the writer, and what keeps the lease.
    ///
    /// # Errors
    /// [`OpenError`], as for a database.
    pub async fn open_simulated(
        server: &Arc<SimulatedServer>,
        config: &Config,
        node: Node,
        ended: Option<i64>,
    ) -> Result<(Self, Writer, impl Future<Output = ()> + Send + 'static), OpenError> {
        let (changes, wait) = (Arc::default(), Arc::new(WriterWait::by(simulated::moment)));
        let host = SimulatedNode::new(Arc::clone(server), node.name.clone(), Some(Arc::clone(&wait)));
        let home = postgres::home::Home::open(Host::Simulated(host), node, ended, Arc::clone(&wait)).await?;
        let (keeper, source) = (home.keeper(watch::channel(None).1), Source::File(server.database()));
        let (open, failure, writer) =
            Self::joined(source, Home::Postgres(Box::new(home)), config, &changes, &wait);
        let keeping = keeper.keep(failure.clone());
        Ok((Self::of(open, failure, changes, wait, None), writer, keeping))
    }

    /// The rows of the server of a simulation, to read. Commands fail.
    #[must_use]
    pub fn reading_simulated(server: &SimulatedServer) -> Self {
        let (changes, wait) = Default::default();
        let database = server.database();
        let (source, home) =
            (Source::File(Arc::clone(&database)), Home::File { database, wait: Arc::clone(&wait) });
        let (open, failure, _) = Self::joined(source, home, &Config::default(), &changes, &wait);
        Self::of(open, failure, changes, wait, None)
    }

    fn of_file(
        database: Database,
        path: &Path,
        config: &Config,
        wait: Arc<WriterWait>,
    ) -> Result<Self, OpenError> {
        let mut clock = runtime::Builder::new_current_thread();
        clock.enable_time();
        let (path, of_writer) = (path.to_owned(), Arc::clone(&wait));
        Self::start(clock, move |_| file(database, &path, &of_writer), config, wait)
    }

    /// Makes the engine ready on the writer's thread, and lets the writer work there. Its runtime never leaves that thread: the
    /// caller's may be one of another runtime, which must neither block on this one nor drop it.
    fn start(
        mut clock: runtime::Builder,
        opening: impl FnOnce(&Runtime) -> Result<(Source, Home), OpenError> + Send + 'static,
        config: &Config,
        wait: Arc<WriterWait>,
    ) -> Result<Self, OpenError> {
        let (changes, (sender, opened)) = (Arc::default(), std::sync::mpsc::sync_channel(1));
        let of_writer = (config.clone(), Arc::clone(&changes), Arc::clone(&wait));
        let work = move || {
            let (config, changes, wait) = of_writer;
            let clock = clock.build().map_err(OpenError::Thread);
            let opened = clock.and_then(|clock| {
                let (source, home) = opening(&clock)?;
                Ok((Self::joined(source, home, &config, &changes, &wait), clock))
            });
            // Sending cannot fail: the caller waits.
            match opened {
                Ok(((open, failure, writer), clock)) => {
                    let _ = sender.send(Ok((open, failure)));
                    writer.work(&clock);
                }
                Err(error) => {
                    let _ = sender.send(Err(error));
                }
            }
        };
        let thread = thread::Builder::new().name("store-writer".into());
        let writer = thread.spawn(work).map_err(OpenError::Thread)?;
        let panicked = |_| Err(OpenError::Thread(io::Error::other("it panicked while the store was opened")));
        match opened.recv().unwrap_or_else(panicked) {
            Ok((mut open, failure)) => {
                open.writer = Some(writer);
                Ok(Self::of(open, failure, changes, wait, Some(Semaphore::new(MAX_LONG_READS))))
            }
            Err(error) => {
                // Nothing of the engine is open any more then.
                let _ = writer.join();
                Err(error)
            }
        }
    }

    /// An engine with a queue before it, and the writer at that queue's end.
    fn joined(
        source: Source,
        home: Home,
        config: &Config,
        changes: &Arc<TaskChanges>,
        wait: &Arc<WriterWait>,
    ) -> (Open, Failure, Writer) {
        // A queue or a batch of nothing would never do anything.
        let (queue, jobs) = mpsc::channel(config.queue.max(1));
        let (failure, configuration) = (watch::Sender::new(None), watch::Sender::new(None));
        if let (Source::Postgres(reading), Home::Postgres(home)) = (&source, &home) {
            reading.begin(home.keeper(configuration.subscribe()).keep(failure.clone()));
        }
        let writer = Writer::new(home, jobs, config, failure.clone(), changes.clone(), Arc::clone(wait));
        let (posted, transaction) = (Arc::clone(&writer.posted), Arc::clone(&writer.shared));
        (Open { source, queue, posted, transaction, configuration, writer: None }, failure, writer)
    }

    fn of(
        open: Open,
        failure: Failure,
        changes: Arc<TaskChanges>,
        wait: Arc<WriterWait>,
        long_reads: Option<Semaphore>,
    ) -> Self {
        let open = RwLock::new(Some(open));
        Self { shared: Arc::new(Shared { open, failure, changes, wait, long_reads }) }
    }

    /// Listens for commits that change a task, from now on. What they changed is read as ever.
    #[must_use]
    pub fn listen(&self, task: TaskId) -> TaskListener {
        self.shared.changes.listen(task)
    }

    /// Webhooks whose rows were written since this was last asked; ends once there are any. For one sender: each change
    /// is told once.
    pub async fn changed_webhooks(&self) -> BTreeSet<WebhookId> {
        self.shared.changes.webhooks.next().await
    }

    /// Applies a command and makes it durable; the answer comes after the commit that holds it.
    ///
    /// The shared result is the command's own. Dropping the future does not take the command back.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when too much is waiting, [`StoreError::NoRoom`] while the disk is full and
    /// [`StoreError::Unavailable`] while the engine cannot be reached, everything else when the store is of no more use.
    pub async fn execute(&self, command: Command) -> Result<Result<Applied, Rejection>, StoreError> {
        self.queued(Work::Apply(command), Durability::Immediate).await
    }

    /// The same for a command that may be lost in a crash: [`Durability::Deferred`].
    ///
    /// # Errors
    /// As [`Store::execute`].
    pub async fn execute_deferred(&self, command: Command) -> Result<Result<Applied, Rejection>, StoreError> {
        if let Some(reason) = self.shared.wait.waits() {
            return Err(reason);
        }
        match self.apply_now(command, Durability::Deferred)? {
            Direct::NotOpen(command) => self.queued(Work::Apply(command), Durability::Deferred).await,
            Direct::Applied(outcome) => Ok(outcome),
            Direct::Failed(error) => Err(error),
        }
    }

    /// The same for a caller that cannot give up: waits for room in the queue and on the disk and for the engine, where
    /// [`Store::execute`] fails with an error that passes.
    ///
    /// # Errors
    /// The store is of no more use.
    pub async fn execute_when_free(
        &self,
        command: Command,
        durability: Durability,
    ) -> Result<Result<Applied, Rejection>, StoreError> {
        let command = match self.apply_now(command, durability)? {
            Direct::NotOpen(command) => command,
            Direct::Applied(outcome) => return Ok(outcome),
            Direct::Failed(error) => return Err(error),
        };
        let (answer, outcome) = oneshot::channel();
        let queue = {
            let open = self.shared.open.read().unwrap_or_else(PoisonError::into_inner);
            open.as_ref().ok_or(StoreError::Closed)?.queue.clone()
        };
        let job = Job { work: Work::Apply(command), durability, answer: Some(answer), claim: None };
        if queue.send(job).await.is_err() {
            return Err(self.failure().unwrap_or(StoreError::Closed));
        }
        drop(queue);
        self.outcome(outcome).await
    }

    /// Gives the writer a command that may be lost in a crash and whose outcome nobody waits for. It is applied before
    /// every command that is given from now on, even while the disk is full or the queue or the engine is gone; a rejection is
    /// logged. What is posted then stays in memory: no more than what is open already ends, since nothing begins.
    ///
    /// # Errors
    /// The store is of no more use.
    pub fn post(&self, command: Command) -> Result<(), StoreError> {
        let open = self.shared.open.read().unwrap_or_else(PoisonError::into_inner);
        let Open { queue, posted, .. } = open.as_ref().ok_or(StoreError::Closed)?;
        if !posted.add(command) {
            return Ok(());
        }
        match queue.try_send(Job::wake()) {
            // Where the queue is full, the writer comes in any case.
            Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(self.failure().unwrap_or(StoreError::Closed)),
        }
    }

    /// Returns once everything answered so far is durable, and so seen by readers.
    ///
    /// # Errors
    /// As [`Store::execute`].
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.queued(Work::Commit, Durability::Immediate).await.map(drop)
    }

    /// Drops the history of finished tasks created before a day (since the epoch), with the logs of their steps; how many days
    /// that were. A day in which a live task was created stays.
    ///
    /// # Errors
    /// As [`Store::execute`].
    pub async fn drop_history(&self, before_day: u32) -> Result<usize, StoreError> {
        let days = self.queued(Work::DropHistory(before_day), Durability::Immediate).await?;
        Ok(if let Ok(Applied::Forgotten(days)) = days { days } else { 0 })
    }

    /// A deferred command into the transaction that is open, if one is.
    fn apply_now(&self, command: Command, durability: Durability) -> Result<Direct, StoreError> {
        if durability == Durability::Immediate {
            return Ok(Direct::NotOpen(command));
        }
        let open = self.shared.open.read().unwrap_or_else(PoisonError::into_inner);
        let Open { queue, posted, transaction, .. } = open.as_ref().ok_or(StoreError::Closed)?;
        let direct = transaction.apply(command, posted);
        if matches!(direct, Direct::Failed(_)) {
            // Where the queue is full or closed, the writer comes in any case.
            let _ = queue.try_send(Job::wake());
        }
        Ok(direct)
    }

    async fn queued(
        &self,
        work: Work,
        durability: Durability,
    ) -> Result<Result<Applied, Rejection>, StoreError> {
        if let Some(reason) = self.shared.wait.waits() {
            return Err(reason);
        }
        let (answer, outcome) = oneshot::channel();
        let claim = Claim::default();
        self.queue(Job { work, durability, answer: Some(answer), claim: Some(claim.clone()) })?;
        let mut outcome = pin!(self.outcome(outcome));
        let reason = tokio::select! {
            biased;
            outcome = &mut outcome => return outcome,
            reason = self.until_waiting() => reason,
        };
        // What the writer has not begun is taken back; what it has waits with it.
        if claim.take() { Err(reason) } else { outcome.await }
    }

    async fn outcome(&self, outcome: Outcome) -> Result<Result<Applied, Rejection>, StoreError> {
        outcome.await.unwrap_or_else(|_| Err(self.failure().unwrap_or(StoreError::Closed)))
    }

    fn queue(&self, job: Job) -> Result<(), StoreError> {
        let open = self.shared.open.read().unwrap_or_else(PoisonError::into_inner);
        let open = open.as_ref().ok_or(StoreError::Closed)?;
        open.queue.try_send(job).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::Busy,
            mpsc::error::TrySendError::Closed(_) => self.failure().unwrap_or(StoreError::Closed),
        })
    }

    /// Reads the file in one snapshot, on the thread of the caller.
    pub(crate) fn read<T>(
        &self,
        database: &Database,
        work: impl FnOnce(&ReadTransaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let read = |database: &Database| work(&database.begin_read()?);
        self.notice(read(database))
    }

    /// Reads many rows of the file in one snapshot, on a blocking thread. A store made by [`Store::with_writer`] has no threads:
    /// there it runs in place.
    pub(crate) async fn read_elsewhere<T: Send + 'static>(
        &self,
        database: Arc<Database>,
        work: impl FnOnce(&ReadTransaction) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if self.shared.long_reads.is_none() {
            return self.read(&database, work);
        }
        let store = self.clone();
        let read = move || store.read(&database, work);
        tokio::task::spawn_blocking(read).await.map_err(StoreError::failed)?
    }

    /// Reads of many rows go on [`MAX_LONG_READS`] at a time.
    pub(crate) async fn long_read_permit(&self) -> Result<Option<SemaphorePermit<'_>>, StoreError> {
        let Some(long_reads) = &self.shared.long_reads else { return Ok(None) };
        long_reads.acquire().await.map(Some).map_err(StoreError::failed)
    }

    /// Ends when the store has failed, with the reason. The process must then stop.
    pub async fn failed(&self) -> StoreError {
        let mut failure = self.shared.failure.subscribe();
        let seen = failure.wait_for(Option::is_some).await;
        // The sender lives as long as `self`, so the wait ends by a failure only.
        seen.ok().and_then(|reason| reason.clone()).unwrap_or(StoreError::Closed)
    }

    /// Ends when nothing can be written for a while, with the reason.
    pub(crate) async fn until_waiting(&self) -> StoreError {
        self.shared.wait.until_waiting().await
    }

    /// Whether the disk is full: a commit waits for room, and no further command is taken that could be refused.
    #[must_use]
    pub fn waits_for_room(&self) -> bool {
        self.shared.wait.waits() == Some(StoreError::NoRoom)
    }

    /// Whether the engine cannot be reached now: what is under way waits, and no further command is taken that could be refused.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        self.shared.wait.waits() == Some(StoreError::Unavailable)
    }

    /// Ends once what has effects outside of the store may begin: not while another process may be at work in place of this one, as
    /// after a long stop of this one. Waits for no more than a moment.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]; why the store is of no more use.
    pub async fn until_it_may_begin(&self) -> Result<(), StoreError> {
        match self.failure() {
            Some(failure) => Err(failure),
            None => self.shared.wait.until_it_may_begin().await,
        }
    }

    /// Has the other gateways of the database know what this one is configured to do from now on, as [`Node::configuration`]. Nobody is
    /// told where the store is a file.
    pub fn tell_configuration(&self, configuration: String) {
        let open = self.shared.open.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &*open {
            open.configuration.send_replace(Some(configuration));
        }
    }

    /// Has `asked` say before each access whether the engine can be reached: for the injection of faults, since redb's always
    /// can. Set once.
    pub fn ask_engine(&self, asked: impl Fn(Access) -> bool + Send + Sync + 'static) {
        self.shared.wait.ask_engine(asked);
    }

    /// Whether the store has failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.failure().is_some()
    }

    /// Finishes what is queued, stops the writer and closes the file, for all clones. Blocks meanwhile. Reads
    /// that are under way keep the file until they end. On a full disk nothing is waited for: what is queued fails.
    pub fn close(&self) {
        self.shared.close();
    }

    fn failure(&self) -> Option<StoreError> {
        self.shared.failure.borrow().clone()
    }

    /// Where reads go.
    pub(crate) fn source(&self) -> Result<Source, StoreError> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        self.wake_for(self.shared.wait.reach(Access::Read))?;
        let open = self.shared.open.read().unwrap_or_else(PoisonError::into_inner);
        open.as_ref().map(|open| open.source.clone()).ok_or(StoreError::Closed)
    }

    /// The file.
    ///
    /// # Errors
    /// The store is in a database; or as every read.
    pub(crate) fn database(&self) -> Result<Arc<Database>, StoreError> {
        match self.source()? {
            Source::File(database) => Ok(database),
            Source::Postgres(_) => {
                Err(StoreError::failed("this store is a database on a server, not a file"))
            }
        }
    }

    /// Records that a read of the file found it broken. An unreadable row fails only its own read.
    fn notice<T>(&self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error @ StoreError::Failed { .. }) = &outcome {
            self.shared.failure.send_if_modified(|reason| {
                let first = reason.is_none();
                reason.get_or_insert_with(|| error.clone());
                first
            });
        }
        outcome
    }

    /// Where a read could not reach the engine, wakes the writer: it finds out when it is back.
    pub(crate) fn wake_for<T>(&self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        if matches!(outcome, Err(StoreError::Unavailable)) && !self.is_unavailable() {
            // Where the queue is full, the writer comes in any case.
            let _ = self.queue(Job::wake());
        }
        outcome
    }
}

impl Shared {
    fn close(&self) {
        self.wait.close();
        let open = self.open.write().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Open { source, queue, writer, .. }) = open {
            if let Source::Postgres(reading) = &source {
                reading.close();
            }
            drop((source, queue));
            // The writer catches panics itself and has reported them.
            let _ = writer.map(JoinHandle::join);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.close();
    }
}

type Outcome = oneshot::Receiver<Result<Result<Applied, Rejection>, StoreError>>;

/// An open file, to read and to write.
fn file(database: Database, path: &Path, wait: &Arc<WriterWait>) -> Result<(Source, Home), OpenError> {
    schema::prepare(&database, path)?;
    let database = Arc::new(database);
    let home = Home::File { database: Arc::clone(&database), wait: Arc::clone(wait) };
    Ok((Source::File(database), home))
}
