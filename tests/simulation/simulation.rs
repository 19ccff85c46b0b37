//! What outlives every process of the system: the disk, the objects, the provider's record, the clock, the randomness, and
//! the oracle's memory.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use gatehouse_model::{Credits, UnixMs};
use object_store::memory::InMemory;

use crate::clock::VirtualClock;
use crate::crash_switch::CrashSwitch;
use crate::customers::first_disk;
use crate::engine_outage::EngineOutage;
use crate::member::{Member, RENEWAL, TURN};
use crate::memory::Memory;
use crate::plan::actions::Plan;
use crate::random::Random;
use crate::record::hook_record::HookRecord;
use crate::record::outcomes::Outages;
use crate::record::provider_record::ProviderRecord;

/// One simulation.
pub(crate) struct Simulation {
    pub(crate) switch: CrashSwitch,
    pub(crate) outage: EngineOutage,
    pub(crate) clock: Arc<VirtualClock>,
    /// Decides about faults: of the provider, slow commits, sectors that are lost in a crash.
    pub(crate) fault_random: Random,
    /// The system's own randomness.
    pub(crate) seed: Arc<Random>,
    pub(crate) objects: Arc<InMemory>,
    pub(crate) plan: Plan,
    /// Of a gateway that is one of several.
    pub(crate) member: OnceLock<Member>,
    provider: Arc<Mutex<ProviderRecord>>,
    memory: Arc<Mutex<Memory>>,
    report: Arc<Mutex<Report>>,
    state: Mutex<State>,
}

/// What all gateways of a simulation write to.
#[derive(Default)]
struct Report {
    log: Vec<String>,
    counts: BTreeMap<&'static str, usize>,
    failure: Option<String>,
}

/// What changes between two processes of the system.
struct State {
    disk: Vec<u8>,
    /// The next actionion of the plan.
    next: usize,
    /// The operation at which each coming process crashes.
    crashes: VecDeque<usize>,
    prices: BTreeMap<String, Credits>,
    /// No more faults.
    faults_end: bool,
    /// By moment: the operations of the process until then. The last one is the end of the plan.
    marks: Vec<(u64, usize)>,
    /// The wall clock when the present process began.
    process_start: UnixMs,
    /// The present process was told to stop.
    stopping: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Simulation {
    /// A simulation of that plan with a crash at each of those operations. `fault_seed` decides about faults, and nothing else.
    pub(crate) fn new(fault_seed: u64, plan: Plan, crashes: impl Into<VecDeque<usize>>) -> Arc<Self> {
        Arc::new(Self::alone(fault_seed, plan, crashes.into()))
    }

    fn alone(fault_seed: u64, plan: Plan, crashes: VecDeque<usize>) -> Self {
        let state = State::of(&plan, crashes);
        let provider = ProviderRecord {
            task_outcomes: plan.task_outcomes.clone(),
            text_outcomes: plan.text_outcomes.clone(),
            outages: plan.outages.clone(),
            lists: plan.lists.clone(),
            hooks: HookRecord::answering(plan.webhook.clone().unwrap_or_default()),
            ..ProviderRecord::default()
        };
        Self {
            switch: CrashSwitch::new(),
            outage: EngineOutage::default(),
            clock: Arc::new(VirtualClock::new()),
            fault_random: Random::new(fault_seed),
            seed: Arc::new(Random::new(plan.seed)),
            objects: Arc::new(InMemory::new()),
            plan,
            member: OnceLock::new(),
            provider: Arc::new(Mutex::new(provider)),
            memory: Arc::default(),
            report: Arc::default(),
            state: Mutex::new(state),
        }
    }

    /// The same for one more gateway, with a clock, a randomness and a process of its own.
    pub(crate) fn beside(&self, number: u64) -> Arc<Self> {
        Arc::new(Self {
            seed: Arc::new(Random::new(self.plan.seed + number)),
            objects: Arc::clone(&self.objects),
            provider: Arc::clone(&self.provider),
            memory: Arc::clone(&self.memory),
            report: Arc::clone(&self.report),
            ..Self::alone(number, self.plan.clone(), VecDeque::new())
        })
    }

    pub(crate) fn provider(&self) -> MutexGuard<'_, ProviderRecord> {
        lock(&self.provider)
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        lock(&self.memory)
    }

    /// Whether faults happen.
    pub(crate) fn injects_faults(&self) -> bool {
        self.plan.faults && !lock(&self.state).faults_end
    }

    /// From now on no more faults happen.
    pub(crate) fn stop_faults(&self) {
        lock(&self.state).faults_end = true;
        self.provider().outages = Outages::default();
    }

    pub(crate) fn disk(&self) -> Vec<u8> {
        lock(&self.state).disk.clone()
    }

    pub(crate) fn set_disk(&self, bytes: Vec<u8>) {
        lock(&self.state).disk = bytes;
    }

    /// A process of the system begins now.
    pub(crate) fn begin_process(&self) {
        let mut state = lock(&self.state);
        (state.process_start, state.stopping) = (self.clock.now(), false);
    }

    /// The present process is told to stop: from now on it begins no steps.
    pub(crate) fn begin_stop(&self) {
        lock(&self.state).stopping = true;
    }

    pub(crate) fn is_stopping(&self) -> bool {
        lock(&self.state).stopping
    }

    pub(crate) fn process_start(&self) -> UnixMs {
        lock(&self.state).process_start
    }

    /// The operation at which the next process crashes.
    pub(crate) fn next_crash(&self) -> Option<usize> {
        lock(&self.state).crashes.pop_front()
    }

    /// Takes the next action, by its number.
    pub(crate) fn next_action(&self) -> Option<usize> {
        let mut state = lock(&self.state);
        let next = state.next;
        (next < self.plan.actions.len()).then(|| {
            state.next += 1;
            next
        })
    }

    /// An action begins, or the plan is done.
    pub(crate) fn mark(&self) {
        let mark = (self.clock.elapsed(), self.switch.operations());
        lock(&self.state).marks.push(mark);
    }

    /// The operations between the actions that begin at `from` and the end of the plan, in a simulation without crash.
    pub(crate) fn operations_since(&self, from: u64) -> std::ops::Range<usize> {
        let state = lock(&self.state);
        let first = state.marks.iter().find(|(at, _)| *at >= from);
        let (first, last) = first.zip(state.marks.last()).expect("the plan has such an action and an end");
        first.1..last.1
    }

    /// When the next action is due.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.plan.actions.get(lock(&self.state).next).map(|(due, _)| *due)
    }

    pub(crate) fn prices(&self) -> BTreeMap<String, Credits> {
        lock(&self.state).prices.clone()
    }

    pub(crate) fn set_prices(&self, prices: BTreeMap<String, Credits>) {
        lock(&self.state).prices = prices;
    }

    /// A line of the log; the same seed gives the same lines.
    pub(crate) fn log(&self, line: fmt::Arguments<'_>) {
        let name = self.member.get().map_or("", |member| member.name);
        let line = format!("{:>9} op {:>4} {name} {line}", self.clock.elapsed(), self.switch.operations());
        lock(&self.report).log.push(line);
    }

    /// Counts an event that shows what the simulation covers.
    pub(crate) fn count(&self, what: &'static str) {
        *lock(&self.report).counts.entry(what).or_default() += 1;
    }

    pub(crate) fn counts(&self) -> BTreeMap<&'static str, usize> {
        lock(&self.report).counts.clone()
    }

    /// An invariant is broken. The first message is kept, and the simulation ends.
    pub(crate) fn fail(&self, what: String) {
        self.log(format_args!("BROKEN: {what}"));
        lock(&self.report).failure.get_or_insert(what);
        self.switch.stop();
    }

    /// Fails where an invariant is broken.
    pub(crate) fn demand(&self, outcome: Result<(), String>) {
        if let Err(what) = outcome {
            self.fail(what);
        }
    }

    pub(crate) fn log_lines(&self) -> Vec<String> {
        lock(&self.report).log.clone()
    }

    /// A call has reached its provider: the gateway that made it must be at work by the clock of the database.
    pub(crate) fn check_effect(&self) {
        match self.member.get().map_or(Ok(0), Member::may_call) {
            Ok(age) if age > RENEWAL + TURN => self.count("a call left more than a second after a renewal"),
            Ok(_) => {}
            Err(what) => self.fail(what),
        }
    }

    /// # Errors
    /// The broken invariant.
    pub(crate) fn result(&self) -> Result<(), String> {
        lock(&self.report).failure.clone().map_or(Ok(()), Err)
    }
}

impl State {
    fn of(plan: &Plan, crashes: VecDeque<usize>) -> Self {
        Self {
            disk: first_disk(plan.webhook.is_some()),
            next: 0,
            crashes,
            prices: Plan::prices(0),
            faults_end: false,
            marks: Vec::new(),
            process_start: UnixMs(0),
            stopping: false,
        }
    }
}
