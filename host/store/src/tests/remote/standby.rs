//! A gateway that waits for the place of another: it gets it when that one has ended, was stopped or was cut off, not when the server
//! was away; and the former one writes nothing any more.

use gatehouse_fault_injection::PostgresServer;
use gatehouse_sample::audit;

use super::{behind_relay, behind_relay_as, cut_off, expect_replaced, open_as, texts};
use crate::config::Config;
use crate::error::OpenError;
use crate::postgres::{Node, Position, Server, Standby};
use crate::store::Store;
use crate::tests::{close, patient};

fn node(name: &str) -> Node {
    let address = Some(format!("http://{name}:8080"));
    Node { name: name.to_owned(), address, version: "1".to_owned(), configuration: "c".to_owned() }
}

fn standby(url: &str, name: &str) -> Standby {
    Standby::new(Server::parse(url, None).unwrap(), node(name))
}

/// Looks until the place is free; the epoch of the one whose end was seen.
async fn until_free(standby: &mut Standby) -> Option<i64> {
    loop {
        match standby.look().await.unwrap() {
            Position::Free(ended) => return ended,
            Position::Taken(_) => tokio::task::yield_now().await,
        }
    }
}

/// The server ends the session of a store a moment after it was closed.
async fn until_unlocked(url: &str) {
    let held = "SELECT exists (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 2871153536 \
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))::text";
    while PostgresServer::shared().ask(url, held) == "true" {
        tokio::task::yield_now().await;
    }
}

/// Nobody would take the place of a gateway that has crashed, or a clean stop would cost as much time as a crash.
#[tokio::test(flavor = "multi_thread")]
async fn the_place_is_free_when_the_session_of_its_holder_has_ended() {
    let (first, relay, url) = behind_relay();
    first.execute(audit("first")).await.unwrap().unwrap();
    let mut waits = standby(&url, "b");
    assert_eq!(waits.look().await.unwrap(), Position::Taken(Node::default()));
    // Found before its turn comes, and not then.
    assert!(waits.fits(None).await.unwrap(), "no pepper is known yet");
    first.fit_pepper(7).unwrap();
    for (check, fits) in [(Some(7), true), (Some(8), false), (None, false)] {
        assert_eq!(waits.fits(check).await.unwrap(), fits, "{check:?}");
    }
    cut_off(&relay);
    until_free(&mut waits).await;
    let second = open_as(&url, node("b"));
    second.execute(audit("second")).await.unwrap().unwrap();
    relay.refuse(false);
    expect_replaced(&first).await;
    assert_eq!(texts(&second).await, ["first", "second"]);

    // One that has seen nobody before, after a clean stop.
    close(second).await;
    until_unlocked(&url).await;
    assert_eq!(standby(&url, "c").look().await.unwrap(), Position::Free(None));
}

/// A process that is stopped keeps its session for ever, and would go on writing once it wakes.
#[tokio::test(flavor = "multi_thread")]
async fn the_place_of_one_that_does_not_renew_is_free_after_its_lease() {
    let server = PostgresServer::shared();
    let url = server.database();
    let first = open_as(&url, node("a"));
    first.execute(audit("first")).await.unwrap().unwrap();
    let mut waits = standby(&url, "b");
    assert_eq!(waits.look().await.unwrap(), Position::Taken(node("a")));
    // Its keeper may renew between the two.
    loop {
        let _ = server.ask(&url, "UPDATE lease SET expires = now() - interval '1 s' WHERE epoch > 0");
        if matches!(waits.look().await.unwrap(), Position::Free(_)) {
            break;
        }
    }
    let second = open_as(&url, node("b"));
    expect_replaced(&first).await;
    assert_eq!(texts(&second).await, ["first"]);
    let mut other = standby(&url, "c");
    assert_eq!(other.look().await.unwrap(), Position::Taken(node("b")));

    let fleet = Server::parse(&url, None).unwrap().fleet().await.unwrap();
    let seen: Vec<_> = fleet.nodes.iter().map(|known| (known.node.name.as_str(), known.at_work)).collect();
    assert_eq!((fleet.epoch, fleet.at_work), (2, true));
    assert_eq!(seen, [("a", false), ("b", true), ("c", false)]);
    assert!(fleet.lease.as_secs() < 10 && fleet.nodes.iter().all(|known| known.seen.as_secs() < 60));
}

/// Two gateways that read other prices since they were started would be taken for equal, and two that read the same for different.
#[tokio::test(flavor = "multi_thread")]
async fn others_know_what_a_gateway_is_configured_to_do_now() {
    let url = PostgresServer::shared().database();
    let first = open_as(&url, node("a"));
    let mut waits = standby(&url, "b");
    let told = async || {
        let nodes = Server::parse(&url, None).unwrap().fleet().await.unwrap().nodes.into_iter();
        nodes.map(|known| known.node.configuration).collect::<Vec<_>>()
    };
    assert_eq!(waits.look().await.unwrap(), Position::Taken(node("a")));
    assert_eq!(told().await, ["c", "c"]);
    // At the next look, and not when the row is due again.
    waits.tell_configuration("d".to_owned());
    assert!(matches!(waits.look().await.unwrap(), Position::Taken(_)));
    assert_eq!(told().await, ["c", "d"]);
    first.tell_configuration("d".to_owned());
    while told().await != ["d", "d"] {
        tokio::task::yield_now().await;
    }
    first.tell_configuration("e".to_owned());
    while told().await != ["e", "d"] {
        tokio::task::yield_now().await;
    }
}

/// Each restart of the server would move the work to another gateway, and end the process of the one before.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_the_server_frees_no_place() {
    let server = PostgresServer::start();
    let url = server.database();
    let first = open_as(&url, node("a"));
    let mut waits = standby(&url, "b");
    assert_eq!(waits.look().await.unwrap(), Position::Taken(node("a")));
    tokio::task::block_in_place(|| server.stop_immediately());
    assert!(waits.look().await.is_err());
    tokio::task::block_in_place(|| server.start_again());
    let work = first.execute_when_free(audit("goes on"), crate::Durability::Immediate);
    let looks = async {
        loop {
            if let Ok(position) = waits.look().await {
                assert_eq!(position, Position::Taken(node("a")));
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        done = work => drop(done.unwrap().unwrap()),
        () = looks => {}
    }
    assert_eq!(waits.look().await.unwrap(), Position::Taken(node("a")));
    assert!(!first.has_failed());
}

/// A command that looks for the lock while all sessions have ended would cost the one that is about to come back its place.
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_of_another_session_is_not_the_holders() {
    let server = PostgresServer::shared();
    let url = server.database();
    close(open_as(&url, node("a"))).await;
    until_unlocked(&url).await;
    let _ = server.ask(&url, "UPDATE lease SET epoch = 7, expires = now() + interval '1 h'");
    let mut waits = standby(&url, "b");
    let other = Server::parse(&url, None).unwrap().connect().await.unwrap().client;
    for statement in ["", "select pg_advisory_lock(7166120832)", "select pg_advisory_unlock(7166120832)"] {
        other.batch_execute(statement).await.unwrap();
        assert_eq!(waits.look().await.unwrap(), Position::Taken(node("a")), "{statement:?}");
    }
}

/// A command, or a gateway that waits for nobody, would end one that is about to come back after a moment without its session.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_keeps_all_out_but_those_who_have_seen_its_holder_end() {
    let server = PostgresServer::shared();
    let (first, relay, url) = behind_relay_as(node("a"));
    first.execute(audit("first")).await.unwrap().unwrap();
    let mut waits = standby(&url, "b");
    assert_eq!(waits.look().await.unwrap(), Position::Taken(node("a")));
    cut_off(&relay);
    let ended = until_free(&mut waits).await;
    assert_eq!(ended, Some(1));
    let open = |node: Node, ended| {
        Store::open_postgres(Server::parse(&url, None).unwrap(), &Config::default(), node, ended)
    };
    for other in [Node::default(), node("c")] {
        let Err(OpenError::Leased { node, seconds: 1..=10, .. }) = open(other, None) else {
            panic!("it was opened, or the lease was over")
        };
        assert_eq!(node, "a");
    }
    assert_eq!(server.ask(&url, "SELECT epoch FROM home"), "1", "nobody has begun");
    relay.refuse(false);
    patient(&first, audit("goes on")).await.unwrap().unwrap();
    assert!(!first.has_failed());

    cut_off(&relay);
    let ended = until_free(&mut waits).await;
    let second = open(node("b"), ended).unwrap();
    second.execute(audit("second")).await.unwrap().unwrap();
    relay.refuse(false);
    expect_replaced(&first).await;
    assert_eq!(texts(&second).await, ["first", "goes on", "second"]);
    close(second).await;
    // Nobody waits after a clean stop, and a renewal that was late finds no lease.
    assert_eq!(server.ask(&url, "SELECT epoch FROM lease WHERE expires <= clock_timestamp()"), "0");
}

/// A server that lost its last commits counts an epoch again that another gateway has had: two would write.
#[tokio::test(flavor = "multi_thread")]
async fn an_epoch_of_another_gateway_is_not_taken_for_ones_own() {
    let server = PostgresServer::shared();
    let (first, relay, url) = behind_relay_as(node("a"));
    first.execute(audit("first")).await.unwrap().unwrap();
    cut_off(&relay);
    let _ = server.ask(&url, "UPDATE lease SET node = 'b'");
    relay.refuse(false);
    expect_replaced(&first).await;
}
