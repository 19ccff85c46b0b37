//! One gateway of a fleet: its process, from its wait for the place to its end.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gatehouse_store::{Config, Node, OpenError, Position, SimulatedServer, Standby, Store};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::clock::{VirtualClock, paused_runtime};
use crate::fleet::faults::Faults;
use crate::member::TURN;
use crate::plugins::Plugins;
use crate::simulation::Simulation;
use crate::system::under_test::System;

/// Between two looks at who is at work.
const LOOK: Duration = Duration::from_millis(250);

/// A gateway, whether its process runs or not.
pub(crate) struct Gateway {
    pub(crate) simulation: Arc<Simulation>,
    pub(crate) faults: Arc<Faults>,
    process: Option<Process>,
}

struct Process {
    runtime: Runtime,
    life: JoinHandle<()>,
    system: Arc<OnceLock<Arc<System>>>,
    /// Until when it has run, in elapsed milliseconds.
    until: u64,
}

impl Gateway {
    pub(crate) fn new(simulation: Arc<Simulation>, faults: Arc<Faults>) -> Self {
        Self { simulation, faults, process: None }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.process.is_some()
    }

    /// What it has opened, once it is at work.
    pub(crate) fn system(&self) -> Option<&Arc<System>> {
        self.process.as_ref()?.system.get()
    }

    /// Its process starts, and crashes at that operation.
    pub(crate) fn start(
        &mut self,
        now: u64,
        server: &Arc<SimulatedServer>,
        plugins: &Arc<Plugins>,
        crash: Option<usize>,
    ) {
        let runtime = paused_runtime();
        let system = Arc::<OnceLock<Arc<System>>>::default();
        self.simulation.switch.restart(crash);
        let at = Arc::clone(&self.simulation);
        let life = live(at, Arc::clone(server), Arc::clone(plugins), Arc::clone(&system));
        runtime.block_on(async {
            self.simulation.clock.begin_at(now);
            self.simulation.log(format_args!("the process starts"));
        });
        let life = runtime.spawn(life);
        self.process = Some(Process { runtime, life, system, until: now });
    }

    /// Its process ends without a word.
    pub(crate) fn kill(&mut self) {
        self.simulation.switch.stop();
        drop(self.process.take());
    }

    /// Runs until that moment, unless it is stopped. Whether its process runs still.
    pub(crate) fn run_until(&mut self, now: u64) -> bool {
        let Some(process) = &mut self.process else { return false };
        if self.faults.is_stopped(now) {
            return true;
        }
        let span = Duration::from_millis(now - process.until);
        let was_stopped = now - process.until > TURN;
        process.until = now;
        let simulation = &self.simulation;
        process.runtime.block_on(async {
            if was_stopped {
                tokio::time::advance(span).await;
                simulation.log(format_args!("the process goes on"));
                return;
            }
            tokio::select! {
                biased;
                () = simulation.switch.crashed() => {}
                () = simulation.clock.stalled() => simulation.fail("I19: an endless loop".to_owned()),
                () = VirtualClock::pause(span) => {}
            }
        });
        let ended = if let Some(what) = simulation.switch.interrupted() {
            simulation.count("the process crashed");
            Some(format!("crash at: {what}"))
        } else {
            process.life.is_finished().then(|| "the process ends".to_owned())
        };
        if let Some(ended) = ended {
            self.log(format_args!("{ended}"));
            self.kill();
        }
        self.process.is_some()
    }

    /// A line of the log, with the time of its process where that runs.
    pub(crate) fn log(&self, line: fmt::Arguments<'_>) {
        let _here = self.process.as_ref().map(|process| process.runtime.enter());
        self.simulation.log(line);
    }

    /// Does something in its process, while that runs.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + 'static + Send) -> Option<JoinHandle<()>> {
        Some(self.process.as_ref()?.runtime.spawn(work))
    }
}

/// Waits for the place, works, and ends once another one has it.
async fn live(
    simulation: Arc<Simulation>,
    server: Arc<SimulatedServer>,
    plugins: Arc<Plugins>,
    opened: Arc<OnceLock<Arc<System>>>,
) {
    let name = simulation.member.get().map_or("", |member| member.name);
    let node = Node { name: name.to_owned(), ..Node::default() };
    let mut standby = Standby::simulated(&server, node.clone());
    let (store, writer) = loop {
        let ended = until_free(&simulation, &mut standby).await;
        match Store::open_simulated(&server, &Config::default(), node.clone(), ended).await {
            Ok((store, writer, keeping)) => {
                tokio::spawn(keeping);
                break (store, writer);
            }
            Err(
                OpenError::Taken { .. } | OpenError::Leased { .. } | OpenError::Database { passes: true, .. },
            ) => {}
            Err(error) => return simulation.fail(format!("the store does not open: {error}")),
        }
        VirtualClock::pause(LOOK).await;
    };
    drop(standby);
    let is_second = name == "b";
    simulation.count(if is_second {
        "the second gateway took the place"
    } else {
        "the first took the place"
    });
    simulation.log(format_args!("it is at work"));
    simulation.begin_process();
    let rows = Store::reading_simulated(&server);
    let failed = store.clone();
    let system = tokio::select! {
        system = System::over(&simulation, &plugins, store, writer, rows) => system,
        _ = failed.failed() => None,
    };
    let Some(system) = system else { return };
    system.check();
    drop(opened.set(system));
    let error = failed.failed().await;
    simulation.log(format_args!("the store has failed: {error}"));
    simulation.count("a gateway was replaced");
    if !error.to_string().contains("another gateway has taken over") {
        simulation.fail(format!("the store failed: {error}"));
    }
}

/// The epoch of the one whose end it has seen.
async fn until_free(simulation: &Simulation, standby: &mut Standby) -> Option<i64> {
    loop {
        match standby.look().await {
            Ok(Position::Free(ended)) => return ended,
            Ok(Position::Taken(_)) | Err(OpenError::Database { passes: true, .. }) => {}
            Err(error) => simulation.fail(format!("a look at the database: {error}")),
        }
        VirtualClock::pause(LOOK).await;
    }
}
