//! Plugin versions and their deployment, families that are switched off, and the history of deployments.

mod deployments;
mod family_switches;
mod live_states;
mod versions;

pub use live_states::StoredStates;
