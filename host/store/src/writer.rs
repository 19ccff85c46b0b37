//! The writer: takes every waiting command, applies them in order, commits once, acknowledges all.
//!
//! While one batch is committed the next one collects in the queue. A deferred command is acknowledged as
//! soon as it is applied. Its transaction stays open for the linger time, and the next immediate command commits it too:
//! a crash never loses a command without every command after it. A posted command, which nobody waits for, is applied
//! before whatever came after it, and does not wake a writer that has a transaction open. A storage error, an unreadable
//! row or a panic ends the writer for good; the transaction is dropped, so nothing of it is kept.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gatehouse_model::{TaskId, metric};
use gatehouse_tasks::{Applied, Command, Rejection, apply};
use redb::{Database, WriteTransaction};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time as clock;

use crate::changes::TaskChanges;
use crate::durability::Durability;
use crate::error::StoreError;
use crate::posted::Posted;
use crate::transaction::batch::Batch;

/// What a command came to.
pub(crate) type Outcome = Result<Applied, Rejection>;
/// Why the store can no longer be used, once it cannot.
pub(crate) type Failure = watch::Sender<Option<StoreError>>;

/// How long what was answered may stay undurable.
pub(crate) const LINGER: Duration = Duration::from_millis(20);

/// A command and who waits for its answer.
pub(crate) struct Job {
    /// None: only the commit is waited for.
    pub(crate) command: Option<Command>,
    pub(crate) durability: Durability,
    /// None: nobody waits for it, it only wakes the writer.
    pub(crate) answer: Option<Answering>,
    /// Of a caller that may take the command back; none of one that waits in any case.
    pub(crate) claim: Option<Claim>,
}

/// The right to decide about a waiting command: the writer's, who then applies it, or its caller's, who takes it back.
#[derive(Clone, Default)]
pub(crate) struct Claim(Arc<AtomicBool>);

impl Claim {
    /// Whether the caller of this is the first.
    pub(crate) fn take(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

pub(crate) type Answering = oneshot::Sender<Result<Outcome, StoreError>>;

/// Takes what waits, applies it in order, commits it once and answers. Nothing else writes.
///
/// A gateway's writer has a thread to itself; one made by [`crate::Store::with_writer`] is run by
/// its creator, between the other work of that thread.
pub struct Writer {
    database: Arc<Database>,
    queue: mpsc::Receiver<Job>,
    /// Commands in one commit.
    limit: usize,
    failure: Failure,
    jobs: Vec<Job>,
    posted: Arc<Posted>,
    /// Applied, and to be answered after the commit.
    applied: Vec<(Answering, Outcome)>,
    /// Tasks that the batch may change.
    tasks: Vec<TaskId>,
    changes: Arc<TaskChanges>,
}

impl Writer {
    pub(crate) fn new(
        database: Arc<Database>,
        queue: mpsc::Receiver<Job>,
        posted: Arc<Posted>,
        limit: usize,
        failure: Failure,
        changes: Arc<TaskChanges>,
    ) -> Self {
        let (jobs, applied, tasks) = (Vec::new(), Vec::new(), Vec::new());
        Self { database, queue, posted, limit, failure, jobs, applied, tasks, changes }
    }

    /// Waits for commands and makes one batch of them durable. `false` once the store is closed and nothing
    /// waits, or once it has failed. Needs a clock: what may be lost is committed after a moment.
    pub async fn run_batch(&mut self) -> bool {
        if self.queue.recv_many(&mut self.jobs, self.limit).await == 0 {
            return false;
        }
        match self.batch().await {
            Ok(()) => true,
            Err(error) => {
                self.fail(&error);
                false
            }
        }
    }

    /// Works until the queue is closed and empty, or the store fails.
    pub(crate) fn work(mut self, clock: &Runtime) {
        clock.block_on(async { while self.run_batch().await {} });
    }

    /// One transaction: what came, and what comes while it may stay open.
    async fn batch(&mut self) -> Result<(), StoreError> {
        let database = Arc::clone(&self.database);
        let mut started = Instant::now();
        let txn = begin(&database)?;
        let mut batch = Batch::open(&txn)?;
        let (mut size, mut until) = (0, None);
        loop {
            let posted = self.posted.take();
            size += posted.len() + self.jobs.len();
            self.apply_posted(&mut batch, posted)?;
            let lasting = self.apply(&mut batch)?;
            if lasting || size >= self.limit {
                break;
            }
            self.answer();
            let until = *until.get_or_insert_with(|| clock::Instant::now() + LINGER);
            self.posted.open();
            match clock::timeout_at(until, self.queue.recv_many(&mut self.jobs, self.limit)).await {
                Ok(1..) => started = Instant::now(),
                // Closed, or no command came. The wait is no part of the commit.
                Ok(0) | Err(_) => {
                    started = Instant::now();
                    break;
                }
            }
        }
        let posted = self.posted.close();
        self.apply_posted(&mut batch, posted)?;
        let webhooks = guarded(|| batch.close())?;
        guarded(|| Ok(txn.commit()?))?;
        self.changes.committed(&self.tasks);
        self.changes.webhooks.committed(webhooks);
        self.tasks.clear();
        self.answer();
        metrics::counter!(metric::COMMITS).increment(1);
        #[expect(clippy::cast_precision_loss, reason = "a batch is far smaller than 2^53")]
        metrics::histogram!(metric::BATCH_SIZE).record(size as f64);
        metrics::histogram!(metric::COMMIT_SECONDS).record(started.elapsed().as_secs_f64());
        Ok(())
    }

    /// Applies what has come; whether any of it must last.
    fn apply(&mut self, batch: &mut Batch<'_>) -> Result<bool, StoreError> {
        #[expect(clippy::cast_precision_loss, reason = "a queue is far shorter than 2^53")]
        metrics::gauge!(metric::QUEUE_DEPTH).set(self.queue.len() as f64);
        let mut any = false;
        let mut jobs = std::mem::take(&mut self.jobs).into_iter();
        while let Some(Job { command, durability, answer, claim }) = jobs.next() {
            if claim.is_some_and(|claim| !claim.take()) {
                continue;
            }
            any |= durability == Durability::Immediate;
            self.tasks.extend(command.as_ref().and_then(Command::task));
            match command.map_or(Ok(Ok(Applied::Done)), |command| guarded(|| apply(batch, command))) {
                Ok(verdict) => self.applied.extend(answer.map(|answer| (answer, verdict))),
                Err(error) => {
                    // Answered with all the others, after the failure is recorded.
                    self.jobs.push(Job { command: None, durability, answer, claim: None });
                    self.jobs.extend(jobs);
                    return Err(error);
                }
            }
        }
        Ok(any)
    }

    /// Applies what nobody waits for: of a rejection only the log hears.
    fn apply_posted(&mut self, batch: &mut Batch<'_>, commands: Vec<Command>) -> Result<(), StoreError> {
        for command in commands {
            self.tasks.extend(command.task());
            if let Err(rejection) = guarded(|| apply(batch, command))? {
                tracing::error!(?rejection, "a posted command was rejected; nothing of it was done");
            }
        }
        Ok(())
    }

    fn answer(&mut self) {
        for (answer, verdict) in self.applied.drain(..) {
            // A client that went away needs no answer; its command was done all the same.
            let _ = answer.send(Ok(verdict));
        }
    }

    fn fail(&mut self, error: &StoreError) {
        tracing::error!(%error, "the store failed; the process must stop");
        self.failure.send_replace(Some(error.clone()));
        self.queue.close();
        drop(self.posted.close());
        let applied = self.applied.drain(..).map(|(answer, _)| answer);
        let waiting = self.jobs.drain(..).chain(std::iter::from_fn(|| self.queue.try_recv().ok()));
        applied.chain(waiting.filter_map(|job| job.answer)).for_each(|answer| {
            let _ = answer.send(Err(error.clone()));
        });
    }
}

/// A rule that panics must not leave half a command behind: unwinding drops the transaction.
fn guarded<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(StoreError::failed(format_args!("the writer panicked: {text}")))
    })
}

fn begin(database: &Database) -> Result<WriteTransaction, StoreError> {
    let mut txn = database.begin_write()?;
    // Two-phase commit with the allocator's state in it: reopening after a crash takes milliseconds.
    txn.set_quick_repair(true);
    Ok(txn)
}

/// Applies the commands in order and makes them durable together, as the writer does.
#[cfg(test)]
pub(crate) fn commit(database: &Database, commands: Vec<Command>) -> Result<Vec<Outcome>, StoreError> {
    let txn = begin(database)?;
    let mut batch = Batch::open(&txn)?;
    let verdicts =
        commands.into_iter().map(|command| apply(&mut batch, command)).collect::<Result<Vec<_>, _>>()?;
    batch.close()?;
    txn.commit()?;
    Ok(verdicts)
}
