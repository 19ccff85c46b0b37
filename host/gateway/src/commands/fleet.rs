//! `fleet`: the gateways of a database, as the database knows them. It needs none of them.

use std::fmt::Write as _;

use gatehouse_store::{Fleet, KnownNode};
use serde_json::{Value, json};

use super::api::{ExecuteError, data_of};
use super::cli::FleetCommand;
use super::run::runtime;
use crate::config::{Location, database};
use crate::exit::Exit;
use crate::terminal::{print, print_error};

/// One that was not seen for so many seconds does not run.
const GONE: u64 = 30;

/// Runs one of its commands.
pub(super) fn run(command: &FleetCommand, location: &Location, as_json: bool) -> Exit {
    let outcome = match command {
        FleetCommand::Status => status(location, as_json),
    };
    outcome.unwrap_or_else(|error| {
        print_error(&error.to_string());
        Exit::from(&error)
    })
}

fn status(location: &Location, as_json: bool) -> Result<Exit, ExecuteError> {
    let Some(server) = database(&data_of(location)?)? else {
        let text = "data.url names no database; a store in a file has one gateway";
        return Err(ExecuteError::Arguments(text.to_owned()));
    };
    let Some(runtime) = runtime(1) else { return Ok(Exit::Broken) };
    let fleet = runtime.block_on(server.fleet())?;
    if as_json {
        return Ok(print(&format!("{}\n", in_json(&fleet))));
    }
    Ok(print(&in_words(&fleet)))
}

fn role(known: &KnownNode) -> &'static str {
    match (known.at_work, known.seen.as_secs() < GONE) {
        (true, _) => "at work",
        (false, true) => "standby",
        (false, false) => "gone",
    }
}

/// Whether those that run are configured to do different things.
fn differ(fleet: &Fleet) -> bool {
    let mut running = fleet.nodes.iter().filter(|known| role(known) != "gone");
    let first = running.next();
    running.any(|known| first.is_some_and(|first| first.node.configuration != known.node.configuration))
}

/// The names that two gateways that run have, and the addresses.
fn doubled(fleet: &Fleet) -> (Vec<&str>, Vec<&str>) {
    let running = || fleet.nodes.iter().filter(|known| role(known) != "gone");
    let names = running().filter(|known| known.is_doubled).map(|known| known.node.name.as_str()).collect();
    let mut addresses: Vec<&str> = running().filter_map(|known| known.node.address.as_deref()).collect();
    addresses.sort_unstable();
    let twice = addresses.chunk_by(|one, other| one == other).filter(|same| same.len() > 1);
    (names, twice.map(|same| same[0]).collect())
}

fn in_json(fleet: &Fleet) -> Value {
    let nodes = fleet.nodes.iter().map(|known| {
        json!({
            "name": known.node.name,
            "role": role(known),
            "address": known.node.address,
            "version": known.node.version,
            "configuration": known.node.configuration,
            "seen_seconds_ago": known.seen.as_secs(),
            "name_is_doubled": known.is_doubled,
        })
    });
    json!({
        "epoch": fleet.epoch,
        "is_at_work": fleet.at_work,
        "lease_seconds": fleet.lease.as_secs(),
        "configurations_differ": differ(fleet),
        "doubled_addresses": doubled(fleet).1,
        "nodes": nodes.collect::<Vec<_>>(),
    })
}

fn in_words(fleet: &Fleet) -> String {
    let width = |of: fn(&KnownNode) -> usize| fleet.nodes.iter().map(of).max().unwrap_or(0);
    let name = width(|known| known.node.name.len());
    let address = width(|known| known.node.address.as_deref().unwrap_or("-").len());
    let mut text = String::new();
    for known in &fleet.nodes {
        let configuration = known.node.configuration.get(..12).unwrap_or(&known.node.configuration);
        let _ = writeln!(
            text,
            "{:name$}  {:7}  {:address$}  {}  configuration {configuration}  seen {} s ago",
            known.node.name,
            role(known),
            known.node.address.as_deref().unwrap_or("-"),
            known.node.version,
            known.seen.as_secs(),
        );
    }
    let epoch = fleet.epoch;
    let _ = match fleet.at_work {
        true => writeln!(text, "epoch {epoch}, {} s of the lease left", fleet.lease.as_secs()),
        false => writeln!(text, "epoch {epoch}, no gateway is at work"),
    };
    if differ(fleet) {
        text +=
            "warning: their configurations differ: after a takeover prices, models or limits are others\n";
    }
    let (names, addresses) = doubled(fleet);
    for name in names {
        let _ = writeln!(
            text,
            "warning: two gateways that run are called {name}: give each a fleet.name of its own"
        );
    }
    for address in addresses {
        let _ = writeln!(
            text,
            "warning: two gateways that run have the address {address}: give each its own fleet.address"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gatehouse_store::Node;

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
        assert_eq!(
            in_words(&fleet),
            "a    at work  http://a:8080  1.0.0  configuration c1  seen 1 s ago\n\
             b    standby  -              1.0.0  configuration c1  seen 2 s ago\n\
             old  gone     -              1.0.0  configuration c0  seen 4000 s ago\n\
             epoch 7, 9 s of the lease left\n"
        );
        fleet.nodes[1].node.configuration = "c2".to_owned();
        assert!(in_words(&fleet).ends_with("prices, models or limits are others\n"));
        assert_eq!(in_json(&fleet)["nodes"][0]["role"], "at work");
        fleet.nodes[1].node.configuration = "c1".to_owned();
        fleet.nodes[1].node.address = fleet.nodes[0].node.address.clone();
        fleet.nodes[2].is_doubled = true;
        let said = in_words(&fleet);
        assert!(
            said.ends_with("have the address http://a:8080: give each its own fleet.address\n"),
            "{said}"
        );
        assert!(!said.contains("are called"), "one that is gone does no harm: {said}");
        fleet.nodes[0].is_doubled = true;
        assert!(in_words(&fleet).contains("two gateways that run are called a:"));
    }
}
