//! What outlives every process of the house: the disk, the objects, the provider's truth, time, the dice, and
//! what the invariants remember.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gatehouse_model::{Credits, UnixMs};
use object_store::memory::InMemory;

use crate::book::Book;
use crate::clock::{Chance, Time};
use crate::customers::first_disk;
use crate::plan::Plan;
use crate::power::Power;
use crate::truth::Truth;

/// One simulated world.
pub(crate) struct World {
    pub(crate) power: Power,
    pub(crate) time: Arc<Time>,
    /// Accidents: what the provider does oddly, when commits are slow, which sectors arrive.
    pub(crate) dice: Chance,
    /// The house's own randomness.
    pub(crate) chance: Arc<Chance>,
    pub(crate) objects: Arc<InMemory>,
    pub(crate) plan: Plan,
    truth: Mutex<Truth>,
    book: Mutex<Book>,
    state: Mutex<State>,
}

/// What changes between the lives of a house.
struct State {
    disk: Vec<u8>,
    /// The next act of the plan.
    next: usize,
    /// Operations of the coming lives at which the power goes.
    cuts: VecDeque<usize>,
    prices: BTreeMap<String, Credits>,
    /// No accidents any more.
    calm: bool,
    log: Vec<String>,
    counts: BTreeMap<&'static str, usize>,
    failure: Option<String>,
    /// The wall clock when the present life began.
    since: UnixMs,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// A world with that plan, whose power goes there. `luck` decides about accidents, and nothing else.
    pub(crate) fn new(luck: u64, plan: Plan, cuts: impl Into<VecDeque<usize>>) -> Arc<Self> {
        let state = State {
            disk: first_disk(),
            next: 0,
            cuts: cuts.into(),
            prices: plan.prices(0),
            calm: false,
            log: Vec::new(),
            counts: BTreeMap::new(),
            failure: None,
            since: UnixMs(0),
        };
        let truth = Truth {
            fates: plan.fates.clone(),
            speeches: plan.speeches.clone(),
            weather: plan.weather.clone(),
            ..Truth::default()
        };
        Arc::new(Self {
            power: Power::new(),
            time: Arc::new(Time::new()),
            dice: Chance::new(luck),
            chance: Arc::new(Chance::new(plan.seed)),
            objects: Arc::new(InMemory::new()),
            plan,
            truth: Mutex::new(truth),
            book: Mutex::default(),
            state: Mutex::new(state),
        })
    }

    pub(crate) fn truth(&self) -> MutexGuard<'_, Truth> {
        lock(&self.truth)
    }

    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        lock(&self.book)
    }

    /// Whether accidents happen.
    pub(crate) fn is_rough(&self) -> bool {
        self.plan.rough && !lock(&self.state).calm
    }

    /// From now on nothing goes wrong by itself.
    pub(crate) fn calm(&self) {
        lock(&self.state).calm = true;
        self.truth().weather = crate::truth::Weather::default();
    }

    pub(crate) fn disk(&self) -> Vec<u8> {
        lock(&self.state).disk.clone()
    }

    pub(crate) fn leave_disk(&self, bytes: Vec<u8>) {
        lock(&self.state).disk = bytes;
    }

    /// A life of the house begins now.
    pub(crate) fn begin_life(&self) {
        lock(&self.state).since = self.time.now();
    }

    pub(crate) fn house_since(&self) -> UnixMs {
        lock(&self.state).since
    }

    /// The operation at which the coming life ends.
    pub(crate) fn next_cut(&self) -> Option<usize> {
        lock(&self.state).cuts.pop_front()
    }

    /// Takes the next act, by its number.
    pub(crate) fn next_act(&self) -> Option<usize> {
        let mut state = lock(&self.state);
        let next = state.next;
        (next < self.plan.acts.len()).then(|| {
            state.next += 1;
            next
        })
    }

    /// When the next act is due.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.plan.acts.get(lock(&self.state).next).map(|(due, _)| *due)
    }

    pub(crate) fn prices(&self) -> BTreeMap<String, Credits> {
        lock(&self.state).prices.clone()
    }

    pub(crate) fn set_prices(&self, prices: BTreeMap<String, Credits>) {
        lock(&self.state).prices = prices;
    }

    /// A line of the log; the same seed gives the same lines.
    pub(crate) fn say(&self, line: fmt::Arguments<'_>) {
        let line = format!("{:>9} op {:>4}  {line}", self.time.gone(), self.power.done());
        lock(&self.state).log.push(line);
    }

    /// Something worth knowing about what was tried happened.
    pub(crate) fn count(&self, what: &'static str) {
        *lock(&self.state).counts.entry(what).or_default() += 1;
    }

    pub(crate) fn counts(&self) -> BTreeMap<&'static str, usize> {
        lock(&self.state).counts.clone()
    }

    /// Something that must not be. The first one counts, and the world ends.
    pub(crate) fn fail(&self, what: String) {
        self.say(format_args!("BROKEN: {what}"));
        lock(&self.state).failure.get_or_insert(what);
        self.power.stop();
    }

    pub(crate) fn log(&self) -> Vec<String> {
        lock(&self.state).log.clone()
    }

    /// # Errors
    /// What must not be and was.
    pub(crate) fn verdict(&self) -> Result<(), String> {
        lock(&self.state).failure.clone().map_or(Ok(()), Err)
    }
}
