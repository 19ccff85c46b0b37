//! Plugin versions and their deployment, and the history of deployments.

mod deployments;
mod live_states;
mod versions;

pub use deployments::Deployed;
pub use live_states::StoredStates;
