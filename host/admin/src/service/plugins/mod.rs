//! Plugin versions and their deployment, families that are switched off, and the history of deployments.

mod deployments;
mod plugin_source;
mod versions;

pub(super) use deployments::Deployments;
pub(super) use plugin_source::PluginSource;
pub use plugin_source::StoredStates;
pub(super) use versions::Versions;
