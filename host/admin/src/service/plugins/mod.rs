//! Plugin versions and their deployment, families that are switched off, and the history of deployments.

mod deployments;
mod family_switches;
mod live_states;
mod plugin_source;
mod versions;

pub(super) use deployments::Deployments;
pub(super) use family_switches::FamilySwitches;
pub use live_states::StoredStates;
pub(super) use plugin_source::{Origin, PluginSource};
pub(super) use versions::Versions;
