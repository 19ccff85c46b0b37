//! Time and chance of a simulated world: the runtime's paused clock under a wall clock that can be set, and
//! numbers that are the same for the same seed.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gatehouse_model::{Clock, Pause, Seed, UnixMs};
use gatehouse_store::fault_injection::Xorshift;
use tokio::sync::watch;
use tokio::time::Instant;

/// When every world begins: 2026-01-01, 10 s before noon.
const BEGINNING: u64 = 1_767_268_790_000;

/// So often nobody looks at the clock within a millisecond, unless something turns in a circle.
const MOST_LOOKS: u32 = 100_000;

/// The wall clock, and the time that has gone by. Both outlive the processes of their house.
pub(crate) struct Time {
    state: Mutex<State>,
    stuck: watch::Sender<bool>,
}

struct State {
    /// The beginning of the present life in its runtime.
    origin: Option<Instant>,
    /// What the wall clock showed there, jumps since then included.
    wall: u64,
    /// What had gone by there.
    gone: u64,
    /// When the wall clock was last set.
    set: u64,
    /// The moment the clock was last looked at, and how often since it came.
    looks: (u64, u32),
}

impl Time {
    pub(crate) fn new() -> Self {
        let state = State { origin: None, wall: BEGINNING, gone: 0, set: 0, looks: (0, 0) };
        Self { state: Mutex::new(state), stuck: watch::Sender::new(false) }
    }

    /// A runtime has started.
    pub(crate) fn begin(&self) {
        self.with(|state| state.origin = Some(Instant::now()));
    }

    /// The runtime stops; the next one starts `away` later.
    pub(crate) fn end(&self, away: Duration) {
        self.with(|state| {
            let lived = state.lived() + millis(away);
            state.wall += lived;
            state.gone += lived;
            state.origin = None;
        });
    }

    /// What the wall clock shows.
    pub(crate) fn now(&self) -> UnixMs {
        let (now, looks) = self.with(|state| {
            let now = state.wall + state.lived();
            let (last, looks) = state.looks;
            state.looks = (now, if last == now { looks + 1 } else { 0 });
            (now, state.looks.1)
        });
        if looks == MOST_LOOKS {
            self.stuck.send_replace(true);
        }
        UnixMs(now)
    }

    /// Ends when time stands still because something turns in a circle.
    pub(crate) async fn stuck(&self) {
        // The sender lives as long as `self`.
        let _ = self.stuck.subscribe().wait_for(|stuck| *stuck).await;
    }

    /// What has gone by since the world began, however the wall clock was set.
    pub(crate) fn gone(&self) -> u64 {
        self.with(|state| state.gone + state.lived())
    }

    /// Sets the wall clock.
    pub(crate) fn jump(&self, by_ms: i64) {
        self.with(|state| {
            state.wall = state.wall.saturating_add_signed(by_ms);
            state.set = state.wall + state.lived();
        });
    }

    /// What the wall clock showed when it had last been set.
    pub(crate) fn set(&self) -> UnixMs {
        self.with(|state| UnixMs(state.set))
    }

    /// A wait by the runtime's clock.
    #[expect(clippy::disallowed_methods, reason = "the clock of the simulated world")]
    pub(crate) fn pause(span: Duration) -> Pause {
        Box::pin(tokio::time::sleep(span))
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn lived(&self) -> u64 {
        self.origin.map_or(0, |origin| millis(origin.elapsed()))
    }
}

impl Clock for Time {
    fn now(&self) -> UnixMs {
        self.now()
    }

    fn pause(&self, span: Duration) -> Pause {
        Self::pause(span)
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).expect("a life is shorter than that")
}

/// Chance: for the house as its seed, for the world as its dice.
pub(crate) struct Chance(Mutex<Xorshift>);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Mutex::new(Xorshift::new(seed)))
    }

    /// Below `end`.
    pub(crate) fn below(&self, end: usize) -> usize {
        self.with(|words| words.below(end))
    }

    /// Once in so many times.
    pub(crate) fn once_in(&self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn millis(&self, range: std::ops::Range<u64>) -> Duration {
        let width = usize::try_from(range.end - range.start).expect("a range of milliseconds");
        Duration::from_millis(range.start + self.below(width) as u64)
    }

    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Xorshift) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Seed for Chance {
    fn fill(&self, into: &mut [u8]) {
        self.with(|words| {
            for chunk in into.chunks_mut(8) {
                chunk.copy_from_slice(&words.next_u64().to_le_bytes()[..chunk.len()]);
            }
        });
    }
}
