//! The gateways of a database, as that knows them. Owns the judgement: which of them run, and what an operator should look at.

use gatehouse_store::{Fleet, OpenError, Server};

use crate::api::error::OperationError;
use crate::api::system::{FleetView, NodeRole, NodeView};

/// Tells of the gateways of a database.
pub struct FleetReader {
    /// `None` where the store is a file.
    pub(super) server: Option<Server>,
}

impl FleetReader {
    /// Those of this moment.
    pub(crate) async fn look(&self) -> Result<FleetView, OperationError> {
        let server = self.server.as_ref().ok_or_else(|| {
            OperationError::NotFound(
                "data.url names no database; a store in a file has one gateway".to_owned(),
            )
        })?;
        match server.fleet().await {
            Ok(fleet) => Ok(fleet.into()),
            Err(error @ OpenError::Database { passes: true, .. }) => {
                Err(OperationError::Busy(error.to_string()))
            }
            Err(error) => Err(OperationError::Failed(error.to_string())),
        }
    }
}

impl From<Fleet> for FleetView {
    fn from(fleet: Fleet) -> Self {
        let nodes: Vec<_> = fleet.nodes.into_iter().map(NodeView::from).collect();
        let differ = |of: fn(&NodeView) -> &str| {
            let mut running = nodes.iter().filter(|node| node.role != NodeRole::Gone).map(of);
            let first = running.next();
            running.any(|other| Some(other) != first)
        };
        let configurations_differ = differ(|node| &node.configuration);
        let found = [
            (!fleet.at_work, "no gateway is at work"),
            (
                configurations_differ,
                "their configurations differ: after a takeover prices, models or limits are others",
            ),
            (differ(|node| &node.version), "their releases differ: run the same one on all of them"),
        ];
        let mut warnings: Vec<String> =
            found.iter().filter(|(is_so, _)| *is_so).map(|(_, text)| (*text).to_owned()).collect();
        warnings.extend(doubled(&nodes));
        Self {
            epoch: fleet.epoch,
            is_at_work: fleet.at_work,
            lease_seconds: fleet.lease.as_secs(),
            configurations_differ,
            warnings,
            nodes,
        }
    }
}

/// The names that two gateways that run have, and the addresses.
fn doubled(nodes: &[NodeView]) -> Vec<String> {
    let running = || nodes.iter().filter(|node| node.role != NodeRole::Gone);
    let names = running().filter(|node| node.name_is_doubled).map(|node| {
        format!("two gateways that run are called {}: give each a fleet.name of its own", node.name)
    });
    let mut addresses: Vec<&str> = running().filter_map(|node| node.address.as_deref()).collect();
    addresses.sort_unstable();
    let addresses = addresses.chunk_by(|one, other| one == other).filter(|same| same.len() > 1).map(|same| {
        format!("two gateways that run have the address {}: give each its own fleet.address", same[0])
    });
    names.chain(addresses).collect()
}
