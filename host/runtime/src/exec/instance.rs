//! One call: a new store with its limits, a fresh instance, the export; then the fault, if it failed.
//!
//! Runs on the caller's thread, which must be outside any async runtime.

use gatehouse_guest::{BlockedWait, Guest, LogSource, OutOfMemory};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{TaskId, metric};
use rustix::time::{ClockId, clock_gettime};
use wasmtime::{Store, Trap, UpdateDeadline};
use wasmtime_wasi::I32Exit;

use crate::abi_v1::exports::{Family, FamilyPre};
use crate::exec::engine::ticks;
use crate::exec::limits::Limits;
use crate::fault::Fault;

/// The limits and log fields of a call.
pub(crate) struct CallSetup {
    pub(crate) limits: Limits,
    pub(crate) source: LogSource,
    /// Processor time it may use, ms.
    pub(crate) budget_ms: u32,
}

/// Runs `body` on a fresh instance of `pre`.
pub(crate) fn call<R>(
    pre: &FamilyPre,
    setup: CallSetup,
    body: impl FnOnce(&Family, &mut Store<Guest>) -> wasmtime::Result<R>,
) -> Result<R, Fault> {
    let (limits, budget_ms) = (setup.limits, setup.budget_ms);
    let mut store = new_store(pre, setup);
    let answer = pre.instantiate(&mut store).and_then(|family| body(&family, &mut store));
    let last_error = store.data().log().close();
    answer.map_err(|error| explain(&error, &limits, budget_ms, last_error))
}

/// A store with the setup's limits; its deadline runs from now.
fn new_store(pre: &FamilyPre, setup: CallSetup) -> Store<Guest> {
    let limits = setup.limits;
    metrics::counter!(metric::PLUGIN_INSTANCES, "family" => Arc::clone(&setup.source.family)).increment(1);
    let mut store = Store::new(pre.engine(), Guest::new(setup.source, &limits.of_guest()));
    store.limiter(|guest| guest);
    store.set_max_component_handles(usize::try_from(limits.handles.get()).unwrap_or(usize::MAX));
    store.set_hostcall_fuel(limits.crossing());
    arm_deadline(&mut store, Duration::from_millis(setup.budget_ms.into()));
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
    pub(crate) fn new(pre: &FamilyPre, setup: CallSetup) -> Result<Self, Fault> {
        let (limits, budget_ms) = (setup.limits, setup.budget_ms);
        let mut store = new_store(pre, setup);
        match pre.instantiate(&mut store) {
            Ok(family) => Ok(Self { store, family, limits, budget_ms }),
            Err(error) => Err(explain(&error, &limits, budget_ms, store.data().log().close())),
        }
    }

    /// Lines of the guest's log are about that task from now on.
    pub(crate) fn log_about(&self, task: Option<TaskId>) {
        self.store.data().log().about(task);
    }

    /// One call, with the processor time, data and log of one call.
    pub(crate) fn call<R>(
        &mut self,
        body: impl FnOnce(&Family, &mut Store<Guest>) -> wasmtime::Result<R>,
    ) -> Result<R, Fault> {
        self.store.set_hostcall_fuel(self.limits.crossing());
        arm_deadline(&mut self.store, Duration::from_millis(self.budget_ms.into()));
        let answer = body(&self.family, &mut self.store);
        let last_error = self.store.data().log().close();
        answer.map_err(|error| explain(&error, &self.limits, self.budget_ms, last_error))
    }
}

/// Ends the call once this thread has spent `budget` of processor time on it, to within a
/// [tick](crate::exec::engine::TICK). Ticks count wall time; they only decide when to look. The first look comes with the
/// next tick, and the time counts from there: to ask for it before every call is a system call, and hardly any call lasts
/// that long.
fn arm_deadline(store: &mut Store<Guest>, budget: Duration) {
    let mut begun = None;
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| {
        let now = processor_time();
        let left = budget.saturating_sub(now.saturating_sub(*begun.get_or_insert(now)));
        Ok(if left.is_zero() { UpdateDeadline::Interrupt } else { UpdateDeadline::Continue(ticks(left)) })
    });
}

/// The processor time of this thread since it began.
fn processor_time() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(spent.tv_sec).unwrap_or(0), u32::try_from(spent.tv_nsec).unwrap_or(0))
}

/// wasmtime keeps the type of this error private; a test holds it to this text.
const CROSSING: &str = "fuel allocated for hostcalls has been exhausted";

fn explain(error: &wasmtime::Error, limits: &Limits, limit_ms: u32, last_error: Option<String>) -> Fault {
    if error.downcast_ref::<OutOfMemory>().is_some() {
        return Fault::Memory { limit_mib: limits.memory_mib.get() };
    }
    if error.downcast_ref::<Trap>() == Some(&Trap::Interrupt) {
        return Fault::Deadline { limit_ms };
    }
    if let Some(fault) = error.downcast_ref::<Fault>() {
        return fault.clone();
    }
    let cause = error.root_cause().to_string();
    if cause.contains(CROSSING) {
        return Fault::TooLarge { what: "data crossing the border", limit: limits.crossing() };
    }
    let reason = match (error.downcast_ref::<I32Exit>(), error.downcast_ref::<BlockedWait>()) {
        (Some(exit), _) => format!("it called exit({})", exit.0),
        (_, Some(wait)) => wait.to_string(),
        _ => cause,
    };
    Fault::Trap {
        reason: match last_error {
            Some(errors) => format!("{reason}; its last error lines: {errors}"),
            None => reason,
        },
    }
}
