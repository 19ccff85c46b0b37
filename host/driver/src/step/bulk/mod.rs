//! Bulk calls: `safe` calls of many tasks that say they are `shared` become one call, through the plugin's `bulk`
//! interface.
//!
//! ```text
//! shared call -> group of its version, provider, account and key -- window over, or full -->
//!   merge (plugin) -> one permit, one call -> split (plugin) -> a reply for each task
//!   one task alone, a fault, an outage, no reply to an item ----> the task makes its own call
//! ```
//! Nothing of it is durable: the calls are safe, so after a crash each plugin asks for its own again.

pub(crate) mod groups;
pub(super) mod merged;
pub(crate) mod shared;
