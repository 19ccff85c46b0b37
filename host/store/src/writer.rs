//! The one thread that writes: takes everything that waits, applies it in order, commits once, answers all.
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

/// Works until the queue is closed and empty, or the store fails.
pub(crate) fn write_all(
    database: &Arc<Database>,
    mut queue: mpsc::Receiver<Job>,
    limit: usize,
    failure: &Failure,
) {
    let mut jobs = Vec::new();
    while queue.blocking_recv_many(&mut jobs, limit) > 0 {
        #[expect(clippy::cast_precision_loss, reason = "a queue is far shorter than 2^53")]
        metrics::gauge!(metric::QUEUE_DEPTH).set(queue.len() as f64);
        let (commands, answers): (Vec<_>, Vec<_>) =
            jobs.drain(..).map(|job| (job.command, job.answer)).unzip();
        match commit_guarded(database, commands) {
            // A client that went away needs no answer; its command was done all the same.
            Ok(verdicts) => answers.into_iter().zip(verdicts).for_each(|(answer, verdict)| {
                let _ = answer.send(Ok(verdict));
            }),
            Err(error) => {
                tracing::error!(%error, "the store failed; the process must stop");
                failure.send_replace(Some(error.clone()));
                queue.close();
                let waiting = std::iter::from_fn(|| queue.try_recv().ok()).map(|job| job.answer);
                answers.into_iter().chain(waiting).for_each(|answer| {
                    let _ = answer.send(Err(error.clone()));
                });
                return;
            }
        }
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
