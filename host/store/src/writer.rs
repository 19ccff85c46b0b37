//! The one who writes: takes everything that waits, applies it in order, commits once, answers all.
//!
//! There is no timer: while one batch is being made durable the next gathers by itself. A storage error, an
//! unreadable row or a panic ends the writer for good; the transaction is dropped, so nothing of it is kept.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use gatehouse_model::metric;
use gatehouse_tasks::{Answer, Command, Rejection, apply};
use redb::Database;
use tokio::sync::{mpsc, oneshot, watch};

use crate::StoreError;
use crate::batch::Batch;

/// What a command came to.
pub(crate) type Verdict = Result<Answer, Rejection>;
/// Why the store can no longer be used, once it cannot.
pub(crate) type Failure = watch::Sender<Option<StoreError>>;

/// A command and who waits for its answer.
pub(crate) struct Job {
    pub(crate) command: Command,
    pub(crate) answer: oneshot::Sender<Result<Verdict, StoreError>>,
}

/// Takes what waits, applies it in order, commits it once and answers. Nothing else writes.
///
/// A gateway's writer has a thread to itself; one made by [`crate::Store::with_writer`] is turned by whoever
/// made it, between whatever else that thread does.
pub struct Writer {
    database: Arc<Database>,
    queue: mpsc::Receiver<Job>,
    /// Commands in one commit.
    limit: usize,
    failure: Failure,
    jobs: Vec<Job>,
}

impl Writer {
    pub(crate) fn new(
        database: Arc<Database>,
        queue: mpsc::Receiver<Job>,
        limit: usize,
        failure: Failure,
    ) -> Self {
        Self { database, queue, limit, failure, jobs: Vec::new() }
    }

    /// Waits for commands and makes one batch of them durable. `false` once the store is closed and nothing
    /// waits, or once it has failed.
    pub async fn turn(&mut self) -> bool {
        self.queue.recv_many(&mut self.jobs, self.limit).await > 0 && self.write()
    }

    /// Works until the queue is closed and empty, or the store fails.
    pub(crate) fn work(mut self) {
        while self.queue.blocking_recv_many(&mut self.jobs, self.limit) > 0 && self.write() {}
    }

    /// One batch; whether there may be another.
    fn write(&mut self) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "a queue is far shorter than 2^53")]
        metrics::gauge!(metric::QUEUE_DEPTH).set(self.queue.len() as f64);
        let (commands, answers): (Vec<_>, Vec<_>) =
            self.jobs.drain(..).map(|job| (job.command, job.answer)).unzip();
        match commit_guarded(&self.database, commands) {
            // A client that went away needs no answer; its command was done all the same.
            Ok(verdicts) => answers.into_iter().zip(verdicts).for_each(|(answer, verdict)| {
                let _ = answer.send(Ok(verdict));
            }),
            Err(error) => {
                tracing::error!(%error, "the store failed; the process must stop");
                self.failure.send_replace(Some(error.clone()));
                self.queue.close();
                let waiting = std::iter::from_fn(|| self.queue.try_recv().ok()).map(|job| job.answer);
                answers.into_iter().chain(waiting).for_each(|answer| {
                    let _ = answer.send(Err(error.clone()));
                });
                return false;
            }
        }
        true
    }
}

/// A rule that panics must not leave half a command behind: unwinding drops the transaction.
fn commit_guarded(database: &Database, commands: Vec<Command>) -> Result<Vec<Verdict>, StoreError> {
    catch_unwind(AssertUnwindSafe(|| commit(database, commands))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(StoreError::failed(format_args!("the writer panicked: {text}")))
    })
}

/// Applies the commands in order and makes them durable together.
pub(crate) fn commit(database: &Database, commands: Vec<Command>) -> Result<Vec<Verdict>, StoreError> {
    let started = Instant::now();
    let mut txn = database.begin_write()?;
    // Two-phase commit with the allocator's state in it: reopening after a crash takes milliseconds.
    txn.set_quick_repair(true);
    let size = commands.len();
    let mut batch = Batch::open(&txn)?;
    let verdicts =
        commands.into_iter().map(|command| apply(&mut batch, command)).collect::<Result<Vec<_>, _>>()?;
    drop(batch);
    txn.commit()?;
    metrics::counter!(metric::COMMITS).increment(1);
    #[expect(clippy::cast_precision_loss, reason = "a batch is far smaller than 2^53")]
    metrics::histogram!(metric::BATCH_SIZE).record(size as f64);
    metrics::histogram!(metric::COMMIT_SECONDS).record(started.elapsed().as_secs_f64());
    Ok(verdicts)
}
