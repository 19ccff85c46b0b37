//! One call: a new store, the limits, a fresh instance, the export, and a name for whatever went wrong.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use wasmtime::{Store, Trap, UpdateDeadline};
use wasmtime_wasi::I32Exit;

use crate::config::Limits;
use crate::engine::ticks;
use crate::fault::Fault;
use crate::guest::{Guest, OutOfMemory};
use crate::notes::Speaker;
use crate::v1::{Family, FamilyPre};
use crate::wasi::Waited;

/// The circumstances of a call.
pub(crate) struct Frame<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) speaker: Speaker,
    /// Processor time it may use.
    pub(crate) budget_ms: u32,
}

/// Runs `body` on a fresh instance of `pre`, on this thread, which must be outside any async runtime.
pub(crate) fn call<R>(
    pre: &FamilyPre,
    frame: Frame<'_>,
    body: impl FnOnce(&Family, &mut Store<Guest>) -> wasmtime::Result<R>,
) -> Result<R, Fault> {
    let (limits, budget_ms) = (frame.limits, frame.budget_ms);
    let mut store = store(pre, frame);
    let answer = pre.instantiate(&mut store).and_then(|family| body(&family, &mut store));
    let last_words = store.data().notes().close();
    answer.map_err(|error| explain(&error, limits, budget_ms, last_words))
}

/// A store under the frame's limits, its deadline running.
fn store(pre: &FamilyPre, frame: Frame<'_>) -> Store<Guest> {
    let limits = frame.limits;
    let mut store = Store::new(pre.engine(), Guest::new(frame.speaker, limits));
    store.limiter(|guest| guest);
    store.set_max_component_handles(usize::try_from(limits.handles.get()).unwrap_or(usize::MAX));
    store.set_hostcall_fuel(limits.crossing());
    arm(&mut store, Duration::from_millis(frame.budget_ms.into()));
    store
}

/// An instance that outlives one call. After a fault it must not be called again.
pub(crate) struct Instance {
    store: Store<Guest>,
    family: Family,
    limits: Limits,
    budget_ms: u32,
}

impl Instance {
    /// Makes it, on a thread outside any async runtime, as every call of it.
    pub(crate) fn new(pre: &FamilyPre, frame: Frame<'_>) -> Result<Self, Fault> {
        let (limits, budget_ms) = (*frame.limits, frame.budget_ms);
        let mut store = store(pre, frame);
        match pre.instantiate(&mut store) {
            Ok(family) => Ok(Self { store, family, limits, budget_ms }),
            Err(error) => Err(explain(&error, &limits, budget_ms, store.data().notes().close())),
        }
    }

    /// One call, with a call's processor time, crossing and log.
    pub(crate) fn call<R>(
        &mut self,
        body: impl FnOnce(&Family, &mut Store<Guest>) -> wasmtime::Result<R>,
    ) -> Result<R, Fault> {
        self.store.set_hostcall_fuel(self.limits.crossing());
        arm(&mut self.store, Duration::from_millis(self.budget_ms.into()));
        let answer = body(&self.family, &mut self.store);
        let last_words = self.store.data().notes().close();
        answer.map_err(|error| explain(&error, &self.limits, self.budget_ms, last_words))
    }
}

/// Ends the call once this thread has spent `budget` of processor time on it. Ticks are wall time and only
/// say when to look.
fn arm(store: &mut Store<Guest>, budget: Duration) {
    let begun = processor_time();
    store.set_epoch_deadline(ticks(budget));
    store.epoch_deadline_callback(move |_| {
        let left = budget.saturating_sub(processor_time().saturating_sub(begun));
        Ok(if left.is_zero() { UpdateDeadline::Interrupt } else { UpdateDeadline::Continue(ticks(left)) })
    });
}

/// What this thread has used of its processor since it began.
fn processor_time() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(spent.tv_sec).unwrap_or(0), u32::try_from(spent.tv_nsec).unwrap_or(0))
}

/// wasmtime keeps the type to itself; a test holds it to these words.
const CROSSING: &str = "fuel allocated for hostcalls has been exhausted";

fn explain(error: &wasmtime::Error, limits: &Limits, limit_ms: u32, last_words: Option<String>) -> Fault {
    if error.downcast_ref::<OutOfMemory>().is_some() {
        return Fault::Memory { limit_mib: limits.memory_mib.get() };
    }
    if error.downcast_ref::<Trap>() == Some(&Trap::Interrupt) {
        return Fault::Deadline { limit_ms };
    }
    let cause = error.root_cause().to_string();
    if cause.contains(CROSSING) {
        return Fault::TooLarge { what: "data crossing the border", limit: limits.crossing() };
    }
    let reason = match (error.downcast_ref::<I32Exit>(), error.downcast_ref::<Waited>()) {
        (Some(exit), _) => format!("it called exit({})", exit.0),
        (_, Some(waited)) => waited.to_string(),
        _ => cause,
    };
    Fault::Trap {
        reason: match last_words {
            Some(words) => format!("{reason}; it said: {words}"),
            None => reason,
        },
    }
}
