//! What the receiver of webhooks must know in the end: every task that ended, each by one id.

use std::time::Duration;

use gatehouse_sample::at_once;

use crate::clock::VirtualClock;
use crate::customers::customer;
use crate::system::under_test::System;

/// The retries of the plans end long before.
const PATIENCE: Duration = Duration::from_secs(3 * 3_600);

/// Without faults every event arrives: each end of a task of the webhook's customer under one id, and nothing else.
///
/// # Errors
/// What was lost, or came without a task.
pub(crate) async fn settle(system: &System) -> Result<(), String> {
    let simulation = &system.simulation;
    if simulation.plan.webhook.is_none() {
        return Ok(());
    }
    let failed = |error: gatehouse_store::StoreError| error.to_string();
    let end = simulation.clock.elapsed() + u64::try_from(PATIENCE.as_millis()).expect("a few hours");
    while !simulation.outage.observe(|| at_once(system.store.waiting_webhooks())).map_err(failed)?.is_empty()
    {
        if simulation.clock.elapsed() > end {
            return Err("a webhook still waits".to_owned());
        }
        VirtualClock::pause(Duration::from_secs(1)).await;
    }
    let ended: Vec<String> = {
        let memory = simulation.memory();
        let own = memory.seen.values().filter(|seen| seen.task.customer == customer(0));
        own.filter(|seen| seen.task.status.is_final()).map(|seen| seen.task.id.to_string()).collect()
    };
    let provider = simulation.provider();
    for task in &ended {
        let named: Vec<_> =
            provider.hooks.bodies.values().filter(|body| body.contains(task.as_str())).collect();
        if named.len() != 1 {
            return Err(format!("the end of {task} was told {} times: {named:?}", named.len()));
        }
    }
    if provider.hooks.bodies.len() != ended.len() {
        return Err(format!("{} events for {} ends", provider.hooks.bodies.len(), ended.len()));
    }
    if provider.hooks.arrivals.len() > provider.hooks.bodies.len() {
        simulation.count("a webhook came again");
    }
    Ok(())
}
