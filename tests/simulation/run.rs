//! Runs a simulation: process after process of the system, each from its start to a crash, a stop, or the end of the
//! plan.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{set_hook, take_hook};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use gatehouse_fault_injection::{Cut, Disk};
use gatehouse_sample::at_once;
use tokio::task::JoinSet;

use crate::clients::{actions, tasks, texts, webhooks};
use crate::clock::{VirtualClock, paused_runtime};
use crate::plan::actions::{Action, Plan};
use crate::plugins::Plugins;
use crate::random::Random;
use crate::record::ACCOUNT_LIMITS;
use crate::simulation::Simulation;
use crate::system::under_test::System;

/// A simulation that needs more processes than this does not end.
const MAX_PROCESSES: usize = 40;

thread_local! {
    static PANICS: Cell<usize> = const { Cell::new(0) };
}

/// How a process ends.
enum ProcessEnd {
    Crashed,
    /// It was stopped, and is started again.
    Stopped,
    /// The plan is done.
    Done,
}

/// Runs a simulation to its end.
///
/// # Errors
/// The first broken invariant.
pub(crate) fn run(simulation: &Arc<Simulation>, plugins: &mut Plugins) -> Result<(), String> {
    plugins.activate_first();
    let panics = panics_here();
    simulation.switch.restart(simulation.next_crash());
    for _ in 0..MAX_PROCESSES {
        let first = simulation.disk();
        let disk = Disk::of(first.clone());
        let end = run_process(simulation, plugins, &disk);
        simulation.result()?;
        if panics_here() != panics {
            return Err("something panicked".to_owned());
        }
        match end {
            ProcessEnd::Done => return Ok(()),
            ProcessEnd::Stopped => simulation.set_disk(disk.bytes()),
            ProcessEnd::Crashed => {
                simulation.count("the process crashed");
                simulation.switch.restart(simulation.next_crash());
                simulation.set_disk(disk_after_crash(simulation, first, &disk));
                if simulation.fault_random.once_in(8) {
                    plugins.reopen();
                }
            }
        }
    }
    Err("the simulation does not end".to_owned())
}

/// What a crash leaves: everything synced, and any part of the rest.
fn disk_after_crash(simulation: &Simulation, mut first: Vec<u8>, disk: &Disk) -> Vec<u8> {
    let log = disk.log();
    let cut = Cut::at_end(&mut first, &log);
    let image = simulation.fault_random.with(|random| cut.images(1, random).pop());
    image.expect("one image was asked for")
}

fn run_process(simulation: &Arc<Simulation>, plugins: &Plugins, disk: &Disk) -> ProcessEnd {
    paused_runtime().block_on(async {
        simulation.clock.begin();
        simulation.begin_process();
        simulation.log(format_args!("the system starts"));
        let end = {
            let mut process = pin!(whole_process(simulation, plugins, disk));
            tokio::select! {
                biased;
                () = simulation.switch.crashed() => ProcessEnd::Crashed,
                () = simulation.clock.stalled() => {
                    simulation.fail("I19: time stands still in an endless loop".to_owned());
                    ProcessEnd::Crashed
                }
                end = &mut process => end,
            }
        };
        if let Some(what) = simulation.switch.interrupted() {
            simulation.log(format_args!("crash at: {what}"));
        }
        let away = simulation.seed.millis(0..20_000);
        simulation.clock.end(away);
        end
    })
}

async fn whole_process(simulation: &Arc<Simulation>, plugins: &Plugins, disk: &Disk) -> ProcessEnd {
    let Some(system) = System::open(simulation, plugins, disk).await else {
        // The process crashed meanwhile; the caller ends this future.
        return std::future::pending().await;
    };
    system.check();
    let mut running = JoinSet::new();
    while let Some(due) = simulation.next_due() {
        VirtualClock::pause(Duration::from_millis(due.saturating_sub(simulation.clock.elapsed()))).await;
        let Some(number) = simulation.next_action() else { break };
        simulation.mark();
        match &simulation.plan.actions[number].1 {
            Action::Restart(raise) => {
                simulation.log(format_args!("the system is stopped"));
                running.detach_all();
                simulation.begin_stop();
                system.close().await;
                simulation.set_prices(Plan::prices(*raise));
                simulation.count("the system was restarted");
                return ProcessEnd::Stopped;
            }
            action => drop(running.spawn(actions::run(Arc::clone(&system), action.clone()))),
        }
    }
    while running.join_next().await.is_some() {}
    simulation.stop_faults();
    simulation.demand(settle(&system).await);
    system.close().await;
    ProcessEnd::Done
}

/// Without faults every task and text ends, and every permit is free again.
pub(crate) async fn settle(system: &System) -> Result<(), String> {
    let simulation = &system.simulation;
    let patience = Duration::from_secs(u64::from(simulation.plan.limit_s) + 200);
    let end = simulation.clock.elapsed() + u64::try_from(patience.as_millis()).expect("less than an hour");
    loop {
        let live = simulation.outage.observe(|| at_once(system.store.live_tasks(None)));
        let live = live.map_err(|error| error.to_string())?;
        if live.is_empty() && !simulation.outage.observe(|| texts::any_hold(&system.store))? {
            break;
        }
        if simulation.clock.elapsed() > end {
            let left: Vec<_> = live.into_iter().map(|task| (task.id, task.phase)).collect();
            return Err(format!("I19: still live: {left:?}, or a hold of a text"));
        }
        VirtualClock::pause(Duration::from_secs(1)).await;
    }
    // A permit is free once the end of its task is known; a running step may still have its last lines to do.
    VirtualClock::pause(Duration::from_secs(1)).await;
    for (account, limit) in ACCOUNT_LIMITS {
        drop(system.take_permits(account, limit).await?);
    }
    simulation.mark();
    tasks::last_task(system).await?;
    webhooks::settle(system).await?;
    texts::last_texts(system).await?;
    system.check();
    tasks::read_everything(system)
}

/// Gives each number to `work`, in two threads; each has a value of its own.
pub(crate) fn in_two_threads<T>(
    numbers: Range<usize>,
    open: impl Fn() -> T + Sync,
    work: impl Fn(&mut T, usize) + Sync,
) {
    let next = AtomicUsize::new(numbers.start);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut own = open();
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= numbers.end {
                        return;
                    }
                    work(&mut own, number);
                }
            });
        }
    });
}

/// The operations at which the processes of a simulation crash, chosen at random.
pub(crate) fn crashes(random: &Random) -> VecDeque<usize> {
    (0..random.below(4)).map(|_| [40, 300, 1200][random.below(3)]).map(|end| random.below(end)).collect()
}

/// How often this thread has panicked so far, caught or not. A panic in a task of the runtime would end that task and nothing
/// else; here it is noticed.
pub(crate) fn panics_here() -> usize {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            PANICS.with(|count| count.set(count.get() + 1));
            before(panic);
        }));
    });
    PANICS.with(Cell::get)
}
