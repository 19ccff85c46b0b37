//! Runs a fleet: its gateways in turn, what its clients do, what befalls it, and what must hold in the end.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gatehouse_fault_injection::Disk;
use gatehouse_store::{PlantedFault, SimulatedServer, Store};
use tokio::task::JoinHandle;

use crate::clients::actions;
use crate::fleet::faults::{Fault, Faults};
use crate::fleet::gateway::Gateway;
use crate::member::{Member, TURN};
use crate::plan::actions::{Action, Plan};
use crate::plugins::Plugins;
use crate::run::{panics_here, settle};
use crate::simulation::Simulation;

/// From the end of a process to the start of the next.
const RESTART: u64 = 1_000;
/// When the second gateway starts.
const SECOND: u64 = 100;
/// By then it has seen who is at work.
const HAS_LOOKED: u64 = 500;
/// A client that finds nobody at work asks again after this time.
const ASK_AGAIN: u64 = 300;
/// After that time no trip is under way that met a fault.
const REST: u64 = 15_000;
/// What is left is done within this time after the last fault.
const PATIENCE: u64 = 600_000;

pub(crate) const NAMES: [&str; 2] = ["a", "b"];

/// Plugins of each gateway.
pub(crate) type AllPlugins = [Arc<Plugins>; 2];

/// What happens at a moment.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A client asks the gateway at work, as soon as there is one.
    Ask(Action),
    /// A client asks that gateway, where it has opened the store.
    AskAt(usize, Action),
    /// Something befalls a gateway.
    Befalls(usize, Fault),
}

/// All of it.
#[derive(Clone, Debug)]
pub(crate) struct FleetPlan {
    pub(crate) plan: Plan,
    /// When, in elapsed milliseconds, and what; in order.
    pub(crate) events: Vec<(u64, Event)>,
    /// The operation at which the first process of the first gateway crashes.
    pub(crate) crash: Option<usize>,
    pub(crate) planted: Option<PlantedFault>,
}

impl FleetPlan {
    /// Clients do what the plan says.
    pub(crate) fn of(mut plan: Plan) -> Self {
        let ask = |(at, action)| (at, Event::Ask(action));
        let events = std::mem::take(&mut plan.actions).into_iter().map(ask).collect();
        Self { plan, events, crash: None, planted: None }
    }

    pub(crate) fn with(mut self, at: u64, event: Event) -> Self {
        self.events.push((at, event));
        self.events.sort_by_key(|(at, _)| *at);
        self
    }
}

pub(crate) fn open_plugins() -> AllPlugins {
    NAMES.map(|_| Arc::new(Plugins::open()))
}

/// How a gateway did what was left.
struct Settled {
    outcome: Result<(), String>,
    /// Whether it was at work still.
    is_open: bool,
}

/// A fleet that runs.
struct Fleet<'a> {
    server: Arc<SimulatedServer>,
    gateways: Vec<Gateway>,
    /// When each starts again.
    starts: Vec<Option<u64>>,
    plugins: &'a AllPlugins,
    clock: Arc<AtomicU64>,
}

/// Runs a fleet to its end: its simulation, and the first broken invariant.
pub(crate) fn run(fleet: &FleetPlan, plugins: &AllPlugins) -> (Arc<Simulation>, Result<(), String>) {
    let first = Simulation::new(1, fleet.plan.clone(), []);
    let outcome = Fleet::start(fleet, &first, plugins).run(fleet, &first);
    (first, outcome)
}

impl<'a> Fleet<'a> {
    fn start(fleet: &FleetPlan, first: &Arc<Simulation>, plugins: &'a AllPlugins) -> Self {
        plugins.iter().for_each(|plugins| plugins.activate_first());
        let clock = Arc::<AtomicU64>::default();
        let second = first.beside(1);
        let ways: Vec<_> =
            [first, &second].map(|one| (Arc::clone(one), Arc::<Faults>::default())).into_iter().collect();
        let (time, network) = (Arc::clone(&clock), (Arc::clone(&clock), ways.clone()));
        let server = Store::simulated_server(
            Disk::of(first.disk()),
            move || time.load(Ordering::SeqCst),
            move |name, trip| {
                let (clock, ways) = &network;
                let (simulation, faults) = &ways[usize::from(name == NAMES[1])];
                faults.end_of(simulation, trip, clock.load(Ordering::SeqCst))
            },
            fleet.planted,
        );
        let server = server.expect("a database");
        let join = |((simulation, faults), name): ((Arc<Simulation>, Arc<Faults>), &'static str)| {
            drop(simulation.member.set(Member::new(name, &server)));
            Gateway::new(simulation, faults)
        };
        let gateways = ways.into_iter().zip(NAMES).map(join).collect();
        Self { gateways, server, starts: vec![Some(0), Some(SECOND)], plugins, clock }
    }

    fn run(mut self, fleet: &FleetPlan, first: &Simulation) -> Result<(), String> {
        let panics = panics_here();
        let mut events: VecDeque<_> = fleet.events.iter().cloned().collect();
        let mut crash = fleet.crash;
        let mut now = 0;
        while let Some((due, _)) = events.front() {
            if *due <= now
                && let Some((_, event)) = events.pop_front()
            {
                if let Some(again) = self.happen(event, now) {
                    let place = events.partition_point(|(at, _)| *at <= now + ASK_AGAIN);
                    events.insert(place, (now + ASK_AGAIN, again));
                }
                continue;
            }
            now = self.turn(now, &mut crash, first)?;
        }
        for gateway in &self.gateways {
            gateway.faults.end();
            gateway.simulation.stop_faults();
        }
        let (rests, end) = (now + REST, now + PATIENCE);
        let settled = Arc::<Mutex<Option<Settled>>>::default();
        let mut settling: Option<JoinHandle<()>> = None;
        loop {
            // A process may end while it settles.
            if now >= rests && settling.as_ref().is_none_or(JoinHandle::is_finished) {
                settling = self.settle(&settled);
            }
            match settled.lock().unwrap_or_else(PoisonError::into_inner).take() {
                // It may have ended after that in the same turn.
                Some(Settled { outcome, is_open: true }) if self.at_work().is_some() => {
                    outcome?;
                    break;
                }
                _ if now > end => return Err("I19: the fleet does not come to rest".to_owned()),
                _ => {}
            }
            now = self.turn(now, &mut crash, first)?;
        }
        if panics_here() == panics { Ok(()) } else { Err("something panicked".to_owned()) }
    }

    /// Has the gateway at work do what is left.
    fn settle(&self, settled: &Arc<Mutex<Option<Settled>>>) -> Option<JoinHandle<()>> {
        let gateway = &self.gateways[self.at_work()?];
        let (system, settled) = (Arc::clone(gateway.system()?), Arc::clone(settled));
        gateway.spawn(async move {
            let outcome = settle(&system).await;
            let found = Settled { outcome, is_open: system.is_open() };
            *settled.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        })
    }

    /// Lets each gateway run for a moment; the time after it.
    fn turn(&mut self, now: u64, crash: &mut Option<usize>, first: &Simulation) -> Result<u64, String> {
        let then = now + TURN;
        for (number, gateway) in self.gateways.iter_mut().enumerate() {
            if self.starts[number].is_some_and(|start| start <= now) {
                self.starts[number] = None;
                let crash = if number == 0 { crash.take() } else { None };
                gateway.start(now, &self.server, &self.plugins[number], crash);
            }
            if gateway.is_running() && !gateway.run_until(then) {
                self.starts[number] = Some(then + RESTART);
                if number == 0 && now > HAS_LOOKED {
                    first.count("the first gateway ended beside a standby");
                }
            }
            first.result()?;
        }
        if self.server.late_batches() > 0 {
            return Err("fence: a gateway has written after another one had taken its place".to_owned());
        }
        self.clock.store(then, Ordering::SeqCst);
        Ok(then)
    }

    /// Something happens; the same again where a client finds nobody.
    fn happen(&mut self, event: Event, now: u64) -> Option<Event> {
        match event {
            Event::Ask(action) => {
                let Some(at_work) = self.at_work() else { return Some(Event::Ask(action)) };
                self.ask(at_work, action);
            }
            Event::AskAt(number, action) => self.ask(number, action),
            Event::Befalls(number, fault) => {
                let gateway = &mut self.gateways[number];
                gateway.log(format_args!("it befalls: {fault:?}"));
                gateway.faults.begin(fault, now);
                match fault {
                    Fault::Restart => self.server.end_sessions(None),
                    Fault::EndSessions => self.server.end_sessions(Some(NAMES[number])),
                    _ => {}
                }
                if fault == Fault::Kill && gateway.is_running() {
                    gateway.kill();
                    self.starts[number] = Some(now + RESTART);
                }
            }
        }
        None
    }

    fn ask(&self, number: usize, action: Action) {
        let gateway = &self.gateways[number];
        if let Some(system) = gateway.system().cloned() {
            drop(gateway.spawn(actions::run(system, action)));
        }
    }

    /// The gateway that clients find at work: it has opened the store, and its process is not stopped.
    fn at_work(&self) -> Option<usize> {
        let now = self.clock.load(Ordering::SeqCst);
        let is_found = |gateway: &Gateway| {
            gateway.system().is_some_and(|system| system.is_open()) && !gateway.faults.is_stopped(now)
        };
        let has_lease = |number: &usize| self.server.lease_age(NAMES[*number]).is_some();
        (0..self.gateways.len()).find(|number| has_lease(number) && is_found(&self.gateways[*number]))
    }
}
