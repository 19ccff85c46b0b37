//! The writer: takes every waiting command, applies them in order, commits once, acknowledges all.
//!
//! While one batch is committed the next one collects in the queue. A deferred command is acknowledged as
//! soon as it is applied. Its transaction stays open for the linger time, for other deferred commands too, which their callers
//! apply themselves, and the next immediate command commits it: a crash never loses a command without every command after
//! it. A posted command, which nobody waits for, is applied before whatever came after it, and does not wake a writer that has a
//! transaction open. While the engine cannot be reached, the writer waits with what it has applied, and commits it later. A storage
//! error, an unreadable row or a panic ends the writer for good; the transaction is dropped, so nothing of it is kept.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gatehouse_model::metric;
use gatehouse_tasks::{Applied, Command, Kept};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time as clock;

use crate::changes::TaskChanges;
use crate::config::Config;
use crate::error::StoreError;
use crate::home::Home;
use crate::posted::Posted;
use crate::transaction::open::{Committed, OpenTransaction, Outcome, Step};
use crate::transaction::shared::SharedTransaction;
use crate::wait::WriterWait;

/// Why the store can no longer be used, once it cannot.
pub(crate) type Failure = watch::Sender<Option<StoreError>>;

/// How long what was answered may stay undurable.
pub(crate) const LINGER: Duration = Duration::from_millis(20);

/// What the writer is asked for.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all work is a command; a box would be an allocation for each"
)]
pub(crate) enum Work {
    Apply(Command),
    /// Nothing but the commit.
    Commit,
    /// To drop the history of tasks created before this day.
    DropHistory(u32),
}

/// What a command waits for before it is acknowledged: a choice of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The commit that contains it: an acknowledged command survives a crash.
    Immediate,
    /// Nothing. The command is committed within [`Writer`]'s linger time or together with the next
    /// [`Durability::Immediate`] command, and readers see it from then on. A crash loses it only together with
    /// every command after it.
    Deferred,
}

/// Work and who waits for its answer.
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) durability: Durability,
    /// None: nobody waits for it, it only wakes the writer.
    pub(crate) answer: Option<Answering>,
    /// Of a caller that may take the command back; none of one that waits in any case.
    pub(crate) claim: Option<Claim>,
}

impl Job {
    /// Nothing to do but to look at what was posted.
    pub(crate) fn wake() -> Self {
        Self { work: Work::Commit, durability: Durability::Deferred, answer: None, claim: None }
    }
}

/// The right to decide about a waiting command: the writer's, who then applies it, or its caller's, who takes it back.
#[derive(Clone, Default)]
pub(crate) struct Claim(Arc<AtomicBool>);

impl Claim {
    /// Whether the caller of this is the first.
    pub(crate) fn take(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }

    /// The next caller of [`Claim::take`] is the first.
    fn give_back(&self) {
        self.0.store(false, Ordering::Release);
    }
}

pub(crate) type Answering = oneshot::Sender<Result<Outcome, StoreError>>;

/// Takes what waits, applies it in order, commits it once and answers. Nothing else begins or commits a transaction.
///
/// A gateway's writer has a thread to itself; one made by [`crate::Store::with_writer`] is run by
/// its creator, between the other work of that thread.
pub struct Writer {
    home: Home,
    queue: mpsc::Receiver<Job>,
    /// Commands in one commit.
    limit: usize,
    failure: Failure,
    jobs: Vec<Job>,
    pub(crate) posted: Arc<Posted>,
    /// Where a transaction stays while it is open.
    pub(crate) shared: Arc<SharedTransaction>,
    /// Rows of the last commit.
    kept: Kept,
    /// Applied, and to be answered after the commit.
    applied: Vec<(Answering, Outcome)>,
    changes: Arc<TaskChanges>,
    wait: Arc<WriterWait>,
}

impl Writer {
    pub(crate) fn new(
        home: Home,
        queue: mpsc::Receiver<Job>,
        config: &Config,
        failure: Failure,
        changes: Arc<TaskChanges>,
        wait: Arc<WriterWait>,
    ) -> Self {
        let (jobs, applied, posted) = Default::default();
        let (limit, kept) = (config.commands(), Kept::within(config.kept_bytes()));
        let shared = Arc::new(SharedTransaction::new(limit));
        Self { home, queue, posted, shared, limit, failure, jobs, kept, applied, changes, wait }
    }

    /// Waits for commands and makes one batch of them durable. `false` once the store is closed and nothing
    /// waits, or once it has failed. Needs a clock: what may be lost is committed after a moment.
    pub async fn run_batch(&mut self) -> bool {
        let worked = match self.receive().await {
            Ok(0) => return false,
            Ok(_) => self.batch().await,
            Err(error) => Err(error),
        };
        match worked {
            Ok(()) => true,
            Err(error) => {
                self.fail(&error);
                false
            }
        }
    }

    /// Waits for commands; how many came. Meanwhile a session that ends is replaced.
    async fn receive(&mut self) -> Result<usize, StoreError> {
        loop {
            tokio::select! {
                biased;
                received = self.queue.recv_many(&mut self.jobs, self.limit) => return Ok(received),
                () = self.home.session_ended(), if !self.wait.is_closing() => {}
            }
            match self.home.renew_session().await {
                // What has come is answered, and nothing is waited for.
                Err(StoreError::Unavailable) if self.wait.is_closing() => {}
                renewed => renewed?,
            }
        }
    }

    /// Works until the queue is closed and empty, or the store fails.
    pub(crate) fn work(mut self, clock: &Runtime) {
        clock.block_on(async {
            while self.run_batch().await {}
            self.home.leave().await;
        });
    }

    /// One transaction: what came, and what comes while it may stay open.
    async fn batch(&mut self) -> Result<(), StoreError> {
        // A run that was dropped half way has left its own there; nothing of it may last.
        drop(self.shared.take()?);
        let mut started = Instant::now();
        let mut transaction = OpenTransaction::begin(self.home.engine(), self.kept.take());
        let mut until = None;
        loop {
            self.apply_posted(&mut transaction, self.posted.take()).await?;
            let lasting = self.apply(&mut transaction).await?;
            if lasting || transaction.commands() >= self.limit {
                break;
            }
            self.answer();
            let until = *until.get_or_insert_with(|| clock::Instant::now() + LINGER);
            self.posted.open();
            self.shared.open(transaction);
            let received = clock::timeout_at(until, self.queue.recv_many(&mut self.jobs, self.limit)).await;
            // The wait is no part of the commit.
            started = Instant::now();
            transaction = self.shared.take()?.ok_or_else(|| StoreError::failed("the transaction is gone"))?;
            // Closed, or no command came.
            if matches!(received, Ok(0) | Err(_)) {
                break;
            }
        }
        self.apply_posted(&mut transaction, self.posted.close()).await?;
        let size = transaction.commands();
        let Committed { tasks, webhooks, kept } = self.home.commit(transaction).await?;
        self.kept = kept;
        self.changes.committed(&tasks);
        self.changes.webhooks.committed(webhooks);
        self.answer();
        metrics::counter!(metric::COMMITS).increment(1);
        #[expect(clippy::cast_precision_loss, reason = "a batch is far smaller than 2^53")]
        metrics::histogram!(metric::BATCH_SIZE).record(size as f64);
        metrics::histogram!(metric::COMMIT_SECONDS).record(started.elapsed().as_secs_f64());
        Ok(())
    }

    /// Applies what has come; whether any of it must last.
    async fn apply(&mut self, transaction: &mut OpenTransaction) -> Result<bool, StoreError> {
        #[expect(clippy::cast_precision_loss, reason = "a queue is far shorter than 2^53")]
        metrics::gauge!(metric::QUEUE_DEPTH).set(self.queue.len() as f64);
        let mut any = false;
        let commands = self.jobs.iter().filter_map(|job| match &job.work {
            Work::Apply(command) => Some(command),
            Work::Commit | Work::DropHistory(_) => None,
        });
        self.home.prepare(transaction, commands).await?;
        let mut jobs = mem::take(&mut self.jobs).into_iter();
        while let Some(Job { work, durability, answer, claim }) = jobs.next() {
            let done = match work {
                Work::Apply(command) => self.apply_command(transaction, command, claim.as_ref()).await,
                _ if claim.as_ref().is_some_and(|claim| !claim.take()) => Ok(None),
                Work::Commit => Ok(Some(Ok(Applied::Done))),
                Work::DropHistory(day) => self.drop_history(transaction, day).await.map(Some),
            };
            any |= durability == Durability::Immediate && !matches!(done, Ok(None));
            match done {
                Ok(verdict) => self.applied.extend(answer.zip(verdict)),
                Err(error) => {
                    // Answered with all the others, after the failure is recorded.
                    self.jobs.push(Job { work: Work::Commit, durability, answer, claim: None });
                    self.jobs.extend(jobs);
                    return Err(error);
                }
            }
        }
        Ok(any)
    }

    /// Applies a command, however long the rows that it has to know cannot be fetched; nothing where its caller took it back
    /// meanwhile.
    async fn apply_command(
        &mut self,
        transaction: &mut OpenTransaction,
        mut command: Command,
        claim: Option<&Claim>,
    ) -> Result<Option<Outcome>, StoreError> {
        while claim.is_none_or(Claim::take) {
            match transaction.apply(command)? {
                Step::Done(outcome) => return Ok(Some(outcome)),
                Step::Away(again) => command = again,
            }
            claim.inspect(|claim| claim.give_back());
            self.home.supply(transaction).await?;
        }
        Ok(None)
    }

    async fn apply_posted(
        &mut self,
        transaction: &mut OpenTransaction,
        mut commands: Vec<Command>,
    ) -> Result<(), StoreError> {
        self.home.prepare(transaction, commands.iter()).await?;
        loop {
            commands = transaction.apply_posted(commands)?;
            if commands.is_empty() {
                return Ok(());
            }
            self.home.supply(transaction).await?;
        }
    }

    async fn drop_history(
        &mut self,
        transaction: &mut OpenTransaction,
        day: u32,
    ) -> Result<Outcome, StoreError> {
        loop {
            match transaction.drop_history(day) {
                Err(StoreError::Unavailable) => self.home.supply(transaction).await?,
                days => return days.map(|days| Ok(Applied::Forgotten(days))),
            }
        }
    }

    fn answer(&mut self) {
        for (answer, verdict) in self.applied.drain(..) {
            // A client that went away needs no answer; its command was done all the same.
            let _ = answer.send(Ok(verdict));
        }
    }

    fn fail(&mut self, error: &StoreError) {
        if *error == StoreError::Unavailable && self.wait.is_closing() {
            // Nothing else ends its wait.
            tracing::error!(
                "the store was closed while it could not be reached: what waited is lost, as in a crash"
            );
        } else {
            tracing::error!(%error, "the store failed; the process must stop");
            self.failure.send_replace(Some(error.clone()));
        }
        self.queue.close();
        drop(self.posted.close());
        let applied = self.applied.drain(..).map(|(answer, _)| answer);
        let waiting = self.jobs.drain(..).chain(std::iter::from_fn(|| self.queue.try_recv().ok()));
        applied.chain(waiting.filter_map(|job| job.answer)).for_each(|answer| {
            let _ = answer.send(Err(error.clone()));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    /// A process whose store has ended would go on as if it had one; a stop would be taken for a failure.
    #[test]
    fn an_engine_that_cannot_be_waited_for_is_a_failure_unless_the_store_closes() {
        for closes in [false, true] {
            let backend = redb::backends::InMemoryBackend::new();
            let (store, mut writer) = Store::with_writer(backend, &Config::default()).unwrap();
            if closes {
                writer.wait.close();
            }
            writer.fail(&StoreError::Unavailable);
            assert_eq!(store.has_failed(), !closes);
        }
    }
}
