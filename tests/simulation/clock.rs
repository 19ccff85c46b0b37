//! The simulation's clock: the runtime's paused time under a wall clock that can be set. It outlives the processes
//! of the system.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gatehouse_model::{Clock, ForwardSteps, Pause, UnixMs};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::time::Instant;

/// When every simulation begins: 2026-01-01, 10 s before noon.
const START: u64 = 1_767_268_790_000;

/// Reads of the clock within one millisecond; more of them mean an endless loop.
const MAX_READS: u32 = 100_000;

/// The wall clock, and the time elapsed since the simulation began.
pub(crate) struct VirtualClock {
    state: Mutex<State>,
    stalled: watch::Sender<bool>,
}

struct State {
    /// When the present process began, in its runtime.
    origin: Option<Instant>,
    /// What the wall clock showed then, later jumps included.
    wall: u64,
    /// What had elapsed then.
    elapsed: u64,
    /// When the wall clock was last set.
    last_set: u64,
    /// How it was set forward in the present process.
    steps: ForwardSteps,
    /// The moment of the last read, and how many reads there were at that moment.
    reads: (u64, u32),
}

/// A runtime of one thread whose time goes on only when every task waits.
pub(crate) fn paused_runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime")
}

impl VirtualClock {
    pub(crate) fn new() -> Self {
        let state = State {
            origin: None,
            wall: START,
            elapsed: 0,
            last_set: 0,
            steps: ForwardSteps::new(),
            reads: (0, 0),
        };
        Self { state: Mutex::new(state), stalled: watch::Sender::new(false) }
    }

    /// A runtime has started.
    pub(crate) fn begin(&self) {
        self.with(|state| {
            state.origin = Some(Instant::now());
            state.steps = ForwardSteps::new();
        });
    }

    /// A runtime has started in which so much has elapsed already.
    pub(crate) fn begin_at(&self, elapsed: u64) {
        self.with(|state| (state.wall, state.elapsed) = (START + elapsed, elapsed));
        self.begin();
    }

    /// The runtime stops; the next one starts `away` later.
    pub(crate) fn end(&self, away: Duration) {
        self.with(|state| {
            let past = state.process_time() + millis(away);
            state.wall += past;
            state.elapsed += past;
            state.origin = None;
        });
    }

    /// What the wall clock shows.
    pub(crate) fn now(&self) -> UnixMs {
        let (now, reads) = self.with(|state| {
            let now = state.wall + state.process_time();
            let (last, reads) = state.reads;
            state.reads = (now, if last == now { reads + 1 } else { 0 });
            (now, state.reads.1)
        });
        if reads == MAX_READS {
            self.stalled.send_replace(true);
        }
        UnixMs(now)
    }

    /// Ends when time stands still because of an endless loop.
    pub(crate) async fn stalled(&self) {
        // The sender lives as long as `self`.
        let _ = self.stalled.subscribe().wait_for(|stalled| *stalled).await;
    }

    /// Milliseconds since the simulation began, however the wall clock was set.
    pub(crate) fn elapsed(&self) -> u64 {
        self.with(|state| state.elapsed + state.process_time())
    }

    /// Sets the wall clock.
    pub(crate) fn jump(&self, by_ms: i64) {
        self.with(|state| {
            state.wall = state.wall.saturating_add_signed(by_ms);
            state.last_set = state.wall + state.process_time();
            if let Ok(forward) = u64::try_from(by_ms) {
                state.steps.record(UnixMs(state.last_set), Duration::from_millis(forward));
            }
        });
    }

    /// How far the present process saw the wall clock set forward after it showed `since`.
    pub(crate) fn skipped(&self, since: UnixMs) -> Duration {
        self.with(|state| state.steps.since(since))
    }

    /// What the wall clock showed when it had last been set.
    pub(crate) fn last_set(&self) -> UnixMs {
        self.with(|state| UnixMs(state.last_set))
    }

    /// A wait by the runtime's clock.
    #[expect(clippy::disallowed_methods, reason = "the clock of the simulation")]
    pub(crate) fn pause(span: Duration) -> Pause {
        Box::pin(tokio::time::sleep(span))
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn process_time(&self) -> u64 {
        self.origin.map_or(0, |origin| millis(origin.elapsed()))
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> UnixMs {
        self.now()
    }

    fn skipped(&self, since: UnixMs) -> Duration {
        self.skipped(since)
    }

    fn pause(&self, span: Duration) -> Pause {
        Self::pause(span)
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).expect("a process runs shorter than that")
}
