//! The clock of tests. Its wall clock and its pauses move when the test says so; a test can wait until a pause of a
//! given length is under way.
//!
//! The simulation has a clock of its own: it runs on the runtime's paused time and outlives its processes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use gatehouse_model::{Clock, ForwardSteps, Pause, UnixMs};
use tokio::sync::{oneshot, watch};

/// A [`Clock`] in the test's hands.
#[derive(Debug)]
pub struct TestClock {
    mode: Mode,
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Debug)]
enum Mode {
    /// Time stands still until it is moved.
    Manual,
    /// The same, but a pause ends at once.
    SkipPauses,
    /// The machine's time; pauses of these lengths end when the test says so.
    Real(Vec<Duration>),
}

#[derive(Debug)]
struct State {
    now: UnixMs,
    steps: ForwardSteps,
    pending: Vec<PendingPause>,
    /// Pauses of this length panic.
    panics: Option<Duration>,
}

#[derive(Debug)]
struct PendingPause {
    span: Duration,
    until: UnixMs,
    end: oneshot::Sender<()>,
}

impl TestClock {
    /// A clock that stands still at this time, in milliseconds, until [`Self::advance`] moves it.
    #[must_use]
    pub fn at(ms: u64) -> Arc<Self> {
        Self::new(Mode::Manual, ms)
    }

    /// The same, but a pause ends at once.
    #[must_use]
    pub fn skipping_pauses_at(ms: u64) -> Arc<Self> {
        Self::new(Mode::SkipPauses, ms)
    }

    /// The machine's clock. Pauses as long as one of `held` end by [`Self::end_pauses`] only.
    #[must_use]
    pub fn real(held: &[Duration]) -> Arc<Self> {
        Self::new(Mode::Real(held.to_vec()), 0)
    }

    fn new(mode: Mode, ms: u64) -> Arc<Self> {
        let (steps, pending) = (ForwardSteps::new(), Vec::new());
        let state = State { now: UnixMs(ms), steps, pending, panics: None };
        Arc::new(Self { mode, state: Mutex::new(state), changed: watch::Sender::new(()) })
    }

    /// Moves the wall clock, and ends every pause that is over then.
    pub fn advance(&self, span: Duration) {
        let mut state = self.state();
        state.now = state.now.plus(span);
        let now = state.now;
        end(state.pending.extract_if(.., |pause| pause.until <= now));
    }

    /// Sets the wall clock forward: no time goes by, and no pause ends earlier.
    pub fn set_forward(&self, by: Duration) {
        let mut state = self.state();
        state.now = state.now.plus(by);
        let now = state.now;
        state.steps.record(now, by);
        state.pending.iter_mut().for_each(|pause| pause.until = pause.until.plus(by));
    }

    /// Moves the wall clock by milliseconds.
    pub fn advance_ms(&self, ms: u64) {
        self.advance(Duration::from_millis(ms));
    }

    /// Ends every pause of this length, once there is one.
    pub async fn end_pauses(&self, span: Duration) {
        self.armed(span).await;
        end(self.state().pending.extract_if(.., |pause| pause.span == span));
    }

    /// From now on a pause of this length panics, as a bug beside it would.
    pub fn panic_in_pauses(&self, span: Option<Duration>) {
        self.state().panics = span;
    }

    /// How many pauses of this length are under way.
    #[must_use]
    pub fn pauses(&self, span: Duration) -> usize {
        self.state().pending.iter().filter(|pause| pause.span == span && !pause.end.is_closed()).count()
    }

    /// Returns once a pause of this length is under way.
    pub async fn armed(&self, span: Duration) {
        self.armed_times(span, 1).await;
    }

    /// Returns once so many pauses of this length are under way.
    pub async fn armed_times(&self, span: Duration, times: usize) {
        let mut changed = self.changed.subscribe();
        while self.pauses(span) < times {
            changed.changed().await.expect("the clock holds the sender");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn end(due: impl Iterator<Item = PendingPause>) {
    for pause in due {
        // The task that waited may be gone.
        let _ = pause.end.send(());
    }
}

impl Clock for TestClock {
    fn now(&self) -> UnixMs {
        match self.mode {
            Mode::Real(_) => UnixMs(0).plus(SystemTime::UNIX_EPOCH.elapsed().expect("after 1970")),
            Mode::Manual | Mode::SkipPauses => self.state().now,
        }
    }

    fn skipped(&self, since: UnixMs) -> Duration {
        self.state().steps.since(since)
    }

    #[expect(clippy::disallowed_methods, reason = "the clock of tests")]
    fn pause(&self, span: Duration) -> Pause {
        let panics = self.state().panics == Some(span);
        assert!(!panics, "a bug where a pause of {span:?} begins");
        match &self.mode {
            Mode::SkipPauses => return Box::pin(std::future::ready(())),
            Mode::Real(held) if !held.contains(&span) => return Box::pin(tokio::time::sleep(span)),
            Mode::Manual | Mode::Real(_) => {}
        }
        let (end, ended) = oneshot::channel();
        let mut state = self.state();
        let until = state.now.plus(span);
        state.pending.push(PendingPause { span, until, end });
        drop(state);
        self.changed.send_replace(());
        Box::pin(async move {
            let _ = ended.await;
        })
    }
}
