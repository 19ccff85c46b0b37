//! The gateways of one database: who is at work, who waits, and what an operator should know of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The gateways that use the database of `data.url`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetView {
    /// How often another gateway, or the same one again, began to work.
    pub epoch: i64,
    /// Whether one is at work.
    pub is_at_work: bool,
    /// Seconds left of the lease of the one at work.
    pub lease_seconds: u64,
    /// Whether those that run are configured to do different things.
    pub configurations_differ: bool,
    /// What to look at, a sentence each.
    pub warnings: Vec<String>,
    /// Those that were seen within the last day, by their names.
    pub nodes: Vec<NodeView>,
}

/// A gateway of a fleet, as it told the others of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeView {
    /// Its name.
    pub name: String,
    /// What it does.
    pub role: NodeRole,
    /// Where the others reach its public API.
    pub address: Option<String>,
    /// Its release.
    pub version: String,
    /// A digest of what it is configured to do.
    pub configuration: String,
    /// Since it was seen last.
    pub seen_seconds_ago: u64,
    /// Whether another process that runs calls itself the same.
    pub name_is_doubled: bool,
}

/// What a gateway does for its fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeRole {
    /// It serves, and is the only one that writes.
    AtWork,
    /// It waits for the place of the one at work.
    Standby,
    /// It was not seen for a while.
    Gone,
}

impl NodeRole {
    /// In words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AtWork => "at work",
            Self::Standby => "standby",
            Self::Gone => "gone",
        }
    }
}
