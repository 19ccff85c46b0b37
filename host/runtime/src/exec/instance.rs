//! One call: a new store with its limits, a fresh instance, the export; then the fault, if it failed.
//!
//! Runs on the caller's thread, which must be outside any async runtime.
//!
//! The right to keep an instance beyond one call: of a stream, or between the two calls of a text request. Never waits,
//! never takes one back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gatehouse_guest::{BlockedWait, Guest, LogSource, OutOfMemory};
use gatehouse_model::{TaskId, metric};
use rustix::time::{ClockId, clock_gettime};
use wasmtime::{Store, Trap, UpdateDeadline};
use wasmtime_wasi::I32Exit;

use crate::abi_v1::exports::{Callee, Family, FamilyPre};
use crate::exec::engine::ticks;
use crate::exec::limits::Limits;
use crate::exec::lock;
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
    body: impl FnOnce(&mut Callee<'_>) -> wasmtime::Result<R>,
) -> Result<R, Fault> {
    let (limits, budget_ms) = (setup.limits, setup.budget_ms);
    let mut store = new_store(pre, setup);
    let answer = pre
        .instantiate(&mut store)
        .and_then(|family| body(&mut Callee { family: &family, store: &mut store }));
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
        body: impl FnOnce(&mut Callee<'_>) -> wasmtime::Result<R>,
    ) -> Result<R, Fault> {
        self.store.set_hostcall_fuel(self.limits.crossing());
        arm_deadline(&mut self.store, Duration::from_millis(self.budget_ms.into()));
        let answer = body(&mut Callee { family: &self.family, store: &mut self.store });
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

/// A customer may have this many times as many as are left: at most two thirds of all, the next one at most two thirds of
/// the rest, so that some are left for a customer who comes late.
const TIMES_LEFT: usize = 2;

/// A number of permits, shared by customers.
pub(crate) struct InstancePermits {
    limit: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    by_customer: BTreeMap<Arc<str>, usize>,
}

/// One of them, given back when it is dropped.
pub(crate) struct InstancePermit {
    permits: Arc<InstancePermits>,
    customer: Arc<str>,
}

impl InstancePermits {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, taken: Mutex::default() })
    }

    /// One for `customer`; `None` where all are taken, or too few are left beside what the customer has.
    pub(crate) fn take(self: &Arc<Self>, customer: &str) -> Option<InstancePermit> {
        let mut taken = lock(&self.taken);
        let left = self.limit.saturating_sub(taken.all);
        let own = taken.by_customer.get(customer).copied().unwrap_or_default();
        if own >= left.saturating_mul(TIMES_LEFT) {
            return None;
        }
        let customer: Arc<str> = customer.into();
        taken.all += 1;
        *taken.by_customer.entry(Arc::clone(&customer)).or_default() += 1;
        Some(InstancePermit { permits: Arc::clone(self), customer })
    }
}

impl Drop for InstancePermit {
    fn drop(&mut self) {
        let mut taken = lock(&self.permits.taken);
        taken.all = taken.all.saturating_sub(1);
        if let Some(own) = taken.by_customer.get_mut(&self.customer) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                taken.by_customer.remove(&self.customer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn take_all(permits: &Arc<InstancePermits>, customer: &str) -> Vec<InstancePermit> {
        std::iter::from_fn(|| permits.take(customer)).collect()
    }

    #[test]
    fn one_customer_leaves_a_third() {
        for (limit, expected) in [(0, 0), (1, 1), (3, 2), (10, 7), (100, 67), (1536, 1024)] {
            assert_eq!(take_all(&InstancePermits::new(limit), "a").len(), expected, "of {limit}");
        }
    }

    #[test]
    fn a_permit_is_given_back() {
        let permits = InstancePermits::new(1);
        let first = permits.take("a");
        assert!(first.is_some() && permits.take("a").is_none() && permits.take("b").is_none());
        drop(first);
        assert!(lock(&permits.taken).by_customer.is_empty());
        assert!(permits.take("b").is_some());
    }

    proptest! {
        /// Whatever a few customers take, in any order, some are left for one who comes late.
        #[test]
        fn a_customer_who_comes_late_gets_some(
            order in prop::collection::vec(0_usize..3, 0..2000), limit in 81_usize..2000,
        ) {
            let permits = InstancePermits::new(limit);
            let mut held = vec![];
            for customer in order {
                held.extend(permits.take(&customer.to_string()));
            }
            for customer in 0..3 {
                held.extend(take_all(&permits, &customer.to_string()));
            }
            let late = take_all(&permits, "late").len();
            // A third of a third of a third is left, of which it gets two thirds, but for what rounding takes.
            prop_assert!(late * 81 + 162 >= limit * 2 && late > 0, "{late} of {limit}");
            prop_assert!(lock(&permits.taken).all <= limit);
        }
    }
}
