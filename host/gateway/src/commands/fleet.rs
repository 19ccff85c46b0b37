//! `fleet`: the gateways of a database, as the gateway of this data folder knows them, or without it the database itself.

use std::fmt::Write as _;

use gatehouse_admin::{ApiRequest, FleetView, NodeView};

use super::api::{ExecuteError, Performed, data_of, running};
use super::cli::FleetCommand;
use super::print::Shown;
use super::store::server;
use crate::config::Location;

/// Runs one of its commands.
pub(super) async fn run(command: &FleetCommand, location: &Location) -> Performed {
    let FleetCommand::Status = command;
    // The database is asked where no gateway of this folder answers, such as that of a standby.
    let fleet = match of_gateway(location).await {
        Some(fleet) => fleet,
        None => of_database(location).await?,
    };
    Ok(Shown::told(serde_json::json!(fleet), in_words(&fleet)))
}

async fn of_gateway(location: &Location) -> Option<FleetView> {
    let answer = running(location).ok()?.send(ApiRequest::get(&["fleet"])).await.ok()?;
    serde_json::from_value(answer.body).ok()
}

async fn of_database(location: &Location) -> Result<FleetView, ExecuteError> {
    let server = server(&data_of(location)?, "a store in a file has one gateway")?;
    Ok(server.fleet().await?.into())
}

fn in_words(fleet: &FleetView) -> String {
    let width = |of: fn(&NodeView) -> usize| fleet.nodes.iter().map(of).max().unwrap_or(0);
    let name = width(|node| node.name.len());
    let address = width(|node| node.address.as_deref().unwrap_or("-").len());
    let mut text = String::new();
    for node in &fleet.nodes {
        let configuration = node.configuration.get(..12).unwrap_or(&node.configuration);
        let _ = writeln!(
            text,
            "{:name$}  {:7}  {:address$}  {}  configuration {configuration}  seen {} s ago",
            node.name,
            node.role.as_str(),
            node.address.as_deref().unwrap_or("-"),
            node.version,
            node.seen_seconds_ago,
        );
    }
    let epoch = fleet.epoch;
    let _ = match fleet.is_at_work {
        true => writeln!(text, "epoch {epoch}, {} s of the lease left", fleet.lease_seconds),
        false => writeln!(text, "epoch {epoch}"),
    };
    for warning in &fleet.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gatehouse_store::{Fleet, KnownNode, Node};

    use super::*;

    fn known(name: &str, at_work: bool, configuration: &str, seen: u64) -> KnownNode {
        let address = at_work.then(|| "http://a:8080".to_owned());
        let (version, configuration) = ("1.0.0".to_owned(), configuration.to_owned());
        let node = Node { name: name.to_owned(), address, version, configuration };
        KnownNode { node, at_work, seen: Duration::from_secs(seen), is_doubled: false }
    }

    /// An operator would not see who is at work, or that a takeover would change prices.
    #[test]
    fn a_status_names_roles_and_differences() {
        let mut fleet = Fleet {
            epoch: 7,
            lease: Duration::from_secs(9),
            at_work: true,
            nodes: vec![
                known("a", true, "c1", 1),
                known("b", false, "c1", 2),
                known("old", false, "c0", 4_000),
            ],
        };
        let view = FleetView::from(fleet.clone());
        assert_eq!(
            in_words(&view),
            "a    at work  http://a:8080  1.0.0  configuration c1  seen 1 s ago\n\
             b    standby  -              1.0.0  configuration c1  seen 2 s ago\n\
             old  gone     -              1.0.0  configuration c0  seen 4000 s ago\n\
             epoch 7, 9 s of the lease left\n"
        );
        let text = serde_json::json!(view);
        assert_eq!(
            (&text["nodes"][0]["role"], &text["warnings"]),
            (&"at_work".into(), &serde_json::json!([]))
        );
        fleet.nodes[1].node.configuration = "c2".to_owned();
        fleet.nodes[1].node.version = "1.1.0".to_owned();
        let words = in_words(&fleet.clone().into());
        assert!(words.contains("prices, models or limits are others\n"), "{words}");
        assert!(
            words.ends_with("warning: their releases differ: run the same one on all of them\n"),
            "{words}"
        );
        fleet.nodes[1].node = Node { name: "b".to_owned(), ..fleet.nodes[0].node.clone() };
        fleet.nodes[2].is_doubled = true;
        let words = in_words(&fleet.clone().into());
        assert!(
            words.ends_with("have the address http://a:8080: give each its own fleet.address\n"),
            "{words}"
        );
        assert!(!words.contains("are called"), "one that is gone does no harm: {words}");
        fleet.nodes[0].is_doubled = true;
        let words = in_words(&fleet.into());
        assert!(words.contains("two gateways that run are called a:"), "{words}");
    }
}
