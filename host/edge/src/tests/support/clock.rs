//! A clock that only a test moves, and that knows the pauses under way.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gatehouse_model::{Clock, Pause, UnixMs};
use tokio::sync::{oneshot, watch};

pub(crate) struct ManualClock {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

struct State {
    now: UnixMs,
    waiting: Vec<Waiting>,
}

struct Waiting {
    span: Duration,
    until: UnixMs,
    end: oneshot::Sender<()>,
}

impl ManualClock {
    pub(crate) fn new() -> Arc<Self> {
        let state = State { now: UnixMs(1_800_000_000_000), waiting: Vec::new() };
        Arc::new(Self { state: Mutex::new(state), changed: watch::Sender::new(()) })
    }

    /// Returns once a pause of this many seconds is under way.
    pub(crate) async fn armed(&self, seconds: u64) {
        self.armed_times(seconds, 1).await;
    }

    /// The same for several pauses of one length.
    pub(crate) async fn armed_times(&self, seconds: u64, times: usize) {
        let mut changed = self.changed.subscribe();
        loop {
            let wanted = Duration::from_secs(seconds);
            let waits = |waiting: &&Waiting| waiting.span == wanted && !waiting.end.is_closed();
            let armed = self.state.lock().unwrap().waiting.iter().filter(waits).count();
            if armed >= times {
                return;
            }
            changed.changed().await.unwrap();
        }
    }

    pub(crate) fn advance(&self, seconds: u64) {
        let mut state = self.state.lock().unwrap();
        state.now = state.now.plus(Duration::from_secs(seconds));
        let now = state.now;
        let (due, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut state.waiting).into_iter().partition(|waiting| waiting.until <= now);
        state.waiting = waiting;
        for waiting in due {
            // The waiting task may be gone.
            let _ = waiting.end.send(());
        }
    }
}

impl Clock for ManualClock {
    fn now(&self) -> UnixMs {
        self.state.lock().unwrap().now
    }

    fn pause(&self, span: Duration) -> Pause {
        let (end, ended) = oneshot::channel();
        let mut state = self.state.lock().unwrap();
        let until = state.now.plus(span);
        state.waiting.push(Waiting { span, until, end });
        drop(state);
        self.changed.send_replace(());
        Box::pin(async move {
            let _ = ended.await;
        })
    }
}
