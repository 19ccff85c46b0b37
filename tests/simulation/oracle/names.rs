//! Names: one owner each, for good, and from the very commit that ended the task.

use std::collections::BTreeMap;

use gatehouse_model::CustomerId;
use gatehouse_sample::at_once;
use gatehouse_store::Store;
use serde_json::Value;

use crate::customers::{CUSTOMERS, customer};
use crate::memory::{Memory, brief};
use crate::oracle::joins::ended_with_claims;
use crate::plan::quilts::NAMES;
use crate::simulation::Simulation;

/// # Errors
/// A name with two owners, with another owner than before, or whose owner's task has not ended with it.
pub(super) fn check_names(memory: &mut Memory, simulation: &Simulation, store: &Store) -> Result<(), String> {
    let mut found = BTreeMap::<String, CustomerId>::new();
    for owner in (0..CUSTOMERS.len()).map(customer) {
        let names = NAMES.map(str::to_owned);
        for claim in at_once(store.owned_names(&owner, &names)).map_err(|error| error.to_string())? {
            let private: Value = serde_json::from_str(&claim.private).unwrap_or_default();
            let task = private["task"].as_str().and_then(|id| id.parse().ok());
            let seen = task.and_then(|task| memory.seen.get(&task));
            let seen = seen.ok_or_else(|| format!("{} was claimed by no task: {private}", claim.name))?;
            let is_its_own = seen.task.customer == owner
                && seen.quilt.as_ref().is_some_and(|quilt| quilt.name.as_ref() == Some(&claim.name));
            if !is_its_own || !ended_with_claims(&seen.task) {
                return Err(format!("{} was claimed, and the task: {}", claim.name, brief(&seen.task)));
            }
            if let Some(other) = found.insert(claim.name.clone(), owner.clone()) {
                return Err(format!("{} belongs to {other:?} and {owner:?}", claim.name));
            }
        }
    }
    for (name, owner) in &memory.names {
        if found.get(name) != Some(owner) {
            return Err(format!("{name} belonged to {owner:?}, and now to {:?}", found.get(name)));
        }
    }
    for _ in memory.names.len()..found.len() {
        simulation.count("a name was claimed");
    }
    memory.names = found;
    for seen in memory.seen.values().filter(|seen| ended_with_claims(&seen.task)) {
        let Some(name) = seen.quilt.as_ref().and_then(|quilt| quilt.name.as_ref()) else { continue };
        if memory.names.get(name) != Some(&seen.task.customer) {
            return Err(format!("{name} is not claimed: {}", brief(&seen.task)));
        }
    }
    Ok(())
}
