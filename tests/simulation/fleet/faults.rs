//! What becomes of each gateway and of its trips to the database.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gatehouse_store::{Trip, TripEnd};

use crate::simulation::Simulation;

/// Longer than both gateways run in turn: a process that is stopped meanwhile is stopped in the middle of the trip.
const LONG: Duration = Duration::from_millis(40);
/// From a gateway to the database, or back.
const WAY: Duration = Duration::from_millis(1);

/// What happens to a gateway; spans in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Its process is killed.
    Kill,
    /// Its process is stopped, and goes on.
    Stop(u64),
    /// The same in the middle of the next commit: before the database has it, or after.
    StopInCommit { arrived: bool, ms: u64 },
    /// Nothing passes between it and the database.
    CutOff(u64),
    /// Its connections are closed, each at its next trip, and none is accepted.
    Refuse(u64),
    /// The server starts again: the sessions of all gateways end, and each is told.
    Restart,
    /// Its sessions end, those of the other one do not, and it is told.
    EndSessions,
    /// How its next commit ends.
    NextCommit(TripEnd),
    /// The answers to its renewals take so long.
    SlowRenewals { answer: u64, ms: u64 },
}

/// The faults of one gateway under way.
#[derive(Default)]
pub(crate) struct Faults(Mutex<State>);

#[derive(Default)]
struct State {
    stopped_until: u64,
    cut_until: u64,
    refused_until: u64,
    slow: Duration,
    slow_until: u64,
    next_commit: Option<TripEnd>,
    /// For how long the process is stopped in the next commit.
    stop_in_commit: Option<u64>,
}

impl Faults {
    pub(crate) fn begin(&self, fault: Fault, now: u64) {
        let mut state = self.lock();
        match fault {
            Fault::Kill | Fault::Restart | Fault::EndSessions => {}
            Fault::Stop(ms) => state.stopped_until = now + ms,
            Fault::StopInCommit { arrived, ms } => {
                let long = if arrived { (WAY, LONG) } else { (LONG, WAY) };
                state.next_commit = Some(TripEnd::Answered(long.0, long.1));
                state.stop_in_commit = Some(ms);
            }
            Fault::CutOff(ms) => state.cut_until = now + ms,
            Fault::Refuse(ms) => state.refused_until = now + ms,
            Fault::NextCommit(end) => state.next_commit = Some(end),
            Fault::SlowRenewals { answer, ms } => {
                (state.slow, state.slow_until) = (Duration::from_millis(answer), now + ms);
            }
        }
    }

    /// All are over.
    pub(crate) fn end(&self) {
        let stopped_until = self.lock().stopped_until;
        *self.lock() = State { stopped_until, ..State::default() };
    }

    /// The process does not run now.
    pub(crate) fn is_stopped(&self, now: u64) -> bool {
        self.lock().stopped_until > now
    }

    /// How a trip ends that begins now.
    pub(crate) fn end_of(&self, simulation: &Simulation, trip: Trip, now: u64) -> TripEnd {
        let is_hidden = {
            let state = self.lock();
            state.cut_until > now || state.stopped_until > now
        };
        if trip == Trip::End {
            return if is_hidden { TripEnd::Silent } else { TripEnd::FINE };
        }
        if !simulation.switch.allow("a trip to the database") || is_hidden {
            return TripEnd::Silent;
        }
        let end = self.planned(simulation, trip, now);
        // The process may crash between the deed and its answer.
        match end {
            TripEnd::Answered(..) if !simulation.switch.allow("the database answers") => {
                TripEnd::AnswerSilent
            }
            end => end,
        }
    }

    fn planned(&self, simulation: &Simulation, trip: Trip, now: u64) -> TripEnd {
        let mut state = self.lock();
        if state.refused_until > now {
            return TripEnd::Lost;
        }
        if trip == Trip::Renew && state.slow_until > now {
            return TripEnd::Answered(WAY, state.slow);
        }
        if trip == Trip::Commit
            && let Some(end) = state.next_commit.take()
        {
            if let Some(ms) = state.stop_in_commit.take() {
                state.stopped_until = now + ms;
                simulation.count("a process was stopped within a commit");
            }
            return end;
        }
        TripEnd::Answered(WAY, WAY)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
