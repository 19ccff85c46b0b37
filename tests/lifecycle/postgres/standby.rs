//! Two gateways on one database: the second one sends requests on, and takes the place of the first when that one is killed, stopped or
//! cut off. Nothing that was acknowledged is lost, nothing is done twice, and the former one does no harm when it comes back.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use gatehouse_fault_injection::{ConnectionCut, PostgresServer, Relay};
use gatehouse_harness::{Caller, Gateway, Setup, run, send, until};
use gatehouse_sandbox::{Sandbox, Settings};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::outages::{Load, client};
use super::{IMAGES, PRICE, at, words};
use crate::gateways;
use crate::lifecycle::{request, sandbox, setup, submits};

const CLIENTS: usize = 4;

/// A gateway of a fleet that trusts the others; its public address is known before it starts.
pub(super) fn of_fleet(sandbox: &Sandbox, name: &str, url: &str) -> Setup {
    untrusting(sandbox, name, url).with("[server]\ntrusted_proxies = [\"127.0.0.0/8\"]\n\n")
}

fn untrusting(sandbox: &Sandbox, name: &str, url: &str) -> Setup {
    let setup = setup(sandbox).with_inherited_socket();
    let address = setup.inherited_address();
    setup
        .with(&at(url))
        .with(&format!("[fleet]\nstandby = true\nname = \"{name}\"\naddress = \"http://{address}\"\n\n"))
}

/// The one at work, one that waits, and clients of the second.
struct Fleet {
    sandbox: Sandbox,
    first: Gateway,
    /// Ends when it is at work.
    second: JoinHandle<Gateway>,
    /// Of the second.
    public: SocketAddr,
    caller: Caller,
    load: Arc<Load>,
    clients: Vec<JoinHandle<()>>,
}

impl Fleet {
    /// `url` is where the first one finds the database.
    async fn start(url_of_first: &str, url: &str) -> Self {
        let sandbox = sandbox(Duration::from_millis(30)).await;
        let first = Gateway::start(of_fleet(&sandbox, "a", url_of_first)).await;
        let caller = first.open_account("acme", "10000000").await;
        let setup = of_fleet(&sandbox, "b", url).with_pepper_of(&first);
        let public = setup.inherited_address();
        let caller = caller.at(public);
        let second = tokio::spawn(Gateway::start(setup));
        until("the standby sends on", async || caller.get("/v1/balance").await.status == 200).await;
        let load = Arc::<Load>::default();
        let clients = (0..CLIENTS).map(|_| tokio::spawn(client(Arc::clone(&load), caller.clone()))).collect();
        until("receipts come", async || load.len() >= 20).await;
        Self { sandbox, first, second, public, caller, load, clients }
    }

    /// Waits until the second one is at work; the longest time without a receipt, from now on.
    async fn taken_over(&mut self) -> (Gateway, Duration) {
        let begun = Instant::now();
        let second = (&mut self.second).await.expect("the second one starts");
        let before = self.load.len();
        until("work goes on", async || self.load.len() > before + 20).await;
        (second, begun.elapsed())
    }

    /// Ends the clients, and compares what they know with the second one and the provider.
    #[expect(clippy::print_stdout, reason = "how long clients were refused belongs to the report")]
    async fn expect_nothing_lost(self, second: &Gateway, took: Duration, what: &str) {
        self.load.ended.store(true, Ordering::SeqCst);
        for client in self.clients {
            client.await.expect("no panic");
        }
        let receipts = self.load.receipts.lock().expect("no panic").clone();
        let account = second.settled_account(&self.caller, "acme").await;
        let mut spent = 0;
        for (prompt, id) in &receipts {
            let task = self.caller.task(id).await;
            assert!(task["status"] == "completed" || task["status"] == "failed", "{prompt}: {task}");
            spent += if task["status"] == "completed" { PRICE } else { 0 };
        }
        let twice: Vec<_> = submits(&self.sandbox).into_iter().filter(|(_, count)| *count > 1).collect();
        assert!(twice.is_empty(), "called twice: {twice:?}");
        assert_eq!(account["reserved"], 0, "{account}");
        assert_eq!(account["spent"], spent, "{account}");
        second.expect_sound_ledger().await;
        let refused = self.load.refused.load(Ordering::SeqCst);
        println!(
            "{what}: {} receipts, {refused} refusals, work went on within {took:.1?}; imbalance 0",
            receipts.len()
        );
    }
}

/// Two machines would be no safer than one.
#[test]
fn a_standby_takes_over_from_a_gateway_that_is_killed() {
    run(async {
        let url = PostgresServer::shared().database();
        let mut fleet = Fleet::start(&url, &url).await;
        let ready = send(fleet.public, "GET", "/readyz", &[], "").await;
        assert_eq!((ready.status, &ready.json()["at_work"]), (200, &Value::from("a")), "{}", ready.text());
        let status = fleet.first.command(&["fleet", "status"]).await;
        assert!(status.contains("a  at work") && status.contains("b  standby"), "{status}");
        assert!(!status.contains("warning"), "{status}");
        let unknown = send(fleet.public, "GET", "/v1/unknown", &[], "").await;
        assert_eq!(unknown.status, 404, "{}", unknown.text());

        // One with a pepper of its own is found before its turn comes.
        let mut other = tokio::process::Command::new(env!("CARGO_BIN_EXE_gatehouse"));
        let folder = tempfile::tempdir().expect("a folder");
        let config = format!("{}[fleet]\nstandby = true\nname = \"c\"\n", at(&url));
        std::fs::write(folder.path().join("gatehouse.toml"), config).expect("a configuration");
        other.arg("--config").arg(folder.path().join("gatehouse.toml"));
        other.arg("--data").arg(folder.path().join("data"));
        let ended = other.output().await.expect("the gateway runs");
        assert!(!ended.status.success() && words(&ended).contains("pepper: is missing"), "{}", words(&ended));

        fleet.first.kill().await;
        let (second, took) = fleet.taken_over().await;
        let ready = send(second.public, "GET", "/readyz", &[], "").await;
        assert_eq!(ready.json()["status"], "ready", "{}", ready.text());
        fleet.expect_nothing_lost(&second, took, "killed").await;
    });
}

/// A roll-out of a release would refuse clients for as long as a start takes.
#[test]
fn a_standby_takes_over_from_a_gateway_that_is_told_to_stop() {
    run(async {
        let url = PostgresServer::shared().database();
        let mut fleet = Fleet::start(&url, &url).await;
        assert_eq!(fleet.first.terminate().await, Some(0));
        let (second, took) = fleet.taken_over().await;
        fleet.expect_nothing_lost(&second, took, "told to stop").await;
    });
}

/// A gateway that sleeps would hold the place for ever, or go on with it when it wakes.
#[test]
fn a_standby_takes_over_from_a_gateway_that_is_stopped_and_wakes_again() {
    run(async {
        let url = PostgresServer::shared().database();
        let mut fleet = Fleet::start(&url, &url).await;
        fleet.first.signal("-STOP").await;
        let (second, took) = fleet.taken_over().await;
        fleet.first.signal("-CONT").await;
        assert_eq!(fleet.first.wait_for_exit().await, Some(3));
        let log = fleet.first.log_text();
        assert!(log.contains("another gateway has taken over the database"), "{log}");
        fleet.expect_nothing_lost(&second, took, "stopped").await;
    });
}

/// A gateway whose network is gone would write over what its successor does.
#[test]
fn a_standby_takes_over_from_a_gateway_that_is_cut_off() {
    run(async {
        let server = PostgresServer::shared();
        let (url, relay) = (server.database(), Relay::to(server.address()));
        let mut fleet = Fleet::start(&relay.url(&url, server.address()), &url).await;
        relay.refuse(true);
        relay.cut_all();
        let (second, took) = fleet.taken_over().await;
        relay.refuse(false);
        assert_eq!(fleet.first.wait_for_exit().await, Some(3));
        fleet.expect_nothing_lost(&second, took, "cut off").await;
    });
}

/// Half of a batch would be written, or what was acknowledged would be lost or repeated, where a gateway falls asleep while it writes.
#[test]
fn a_standby_takes_over_from_a_gateway_that_is_stopped_inside_a_flush() {
    run(async {
        let server = PostgresServer::shared();
        let cases = [
            (ConnectionCut::Request(b"commit"), "stopped with half of a flush at the server"),
            (ConnectionCut::Answer(b"COMMIT"), "stopped with a flush that the server has committed"),
        ];
        for (point, what) in cases {
            let (url, relay) = (server.database(), Relay::to(server.address()));
            let mut fleet = Fleet::start(&relay.url(&url, server.address()), &url).await;
            let held = relay.hold_at(point);
            until("a flush is held back", async || held.is_reached()).await;
            fleet.first.signal("-STOP").await;
            let (second, took) = fleet.taken_over().await;
            drop(held);
            fleet.first.signal("-CONT").await;
            assert_eq!(fleet.first.wait_for_exit().await, Some(3), "{what}");
            let log = fleet.first.log_text();
            assert!(log.contains("another gateway has taken over the database"), "{what}: {log}");
            fleet.expect_nothing_lost(&second, took, what).await;
        }
    });
}

/// Each takeover would bring back the prices that the next gateway was started with, and a key that was revoked since, and nobody would
/// be warned.
#[test]
fn a_standby_takes_over_with_its_files_as_they_are_then() {
    run(async {
        for (lead, is_usable, cost, account) in [("", true, 5, 1_usize), ("[prices\n", false, 4, 0)] {
            let url = PostgresServer::shared().database();
            let keys = vec!["sandbox-key".to_owned(), "second-key".to_owned()];
            let settings = Settings { keys, ..gateways::settings(Duration::ZERO) };
            let sandbox = Sandbox::start(settings).await.expect("a sandbox");
            let setup = |name| of_fleet(&sandbox, name, &url).with("[prices]\n\"ctx-pro\" = \"4\"\n\n");
            // Its files are known before it waits.
            let mut second = Gateway::start(setup("b")).await;
            assert_eq!(second.terminate().await, Some(0));
            let mut first = Gateway::start(setup("a").with_pepper_of(&second)).await;
            let caller = first.open_account("acme", "1000").await.at(second.public);
            let (folder, config) = (second.folder().to_owned(), second.config());
            let second = tokio::spawn(async move {
                second.restart().await;
                second
            });
            until("the standby sends on", async || caller.get("/v1/balance").await.status == 200).await;
            let told = async || {
                let fleet = first.json(&["fleet", "status"]).await;
                let nodes = fleet["nodes"].as_array().expect("gateways").iter();
                let told: Vec<Value> = nodes.map(|node| node["configuration"].clone()).collect();
                (told, fleet["warnings"] == Value::Array(Vec::new()))
            };
            let (before, is_fine) = told().await;
            assert!(is_fine && before.len() == 2, "{before:?}");

            let dearer = |config: &str| config.replace("\"ctx-pro\" = \"4\"", "\"ctx-pro\" = \"5\"");
            let file = format!("{lead}{}", dearer(&config));
            std::fs::write(folder.join("gatehouse.toml"), file).expect("a configuration");
            std::fs::write(folder.join("secret"), "second-key\n").expect("a secret");
            first.reload(&dearer(&first.config())).await;
            until("both tell what they are configured to do", async || {
                let (now, is_fine) = told().await;
                now[0] != before[0] && is_fine == is_usable
            })
            .await;
            first.kill().await;
            let second = second.await.expect("the second one starts");
            let task = caller.finish(IMAGES, &request("kite")).await;
            assert_eq!(task["cost"], cost, "{task}");
            let accounts: Vec<_> =
                sandbox.context_record().submits.iter().map(|submit| submit.account).collect();
            assert_eq!(accounts, [account]);
            let log = second.log_text();
            assert_ne!(log.contains("configuration not reloaded"), is_usable, "{log}");
        }
    });
}

/// All clients of a standby would have its address, or anybody could say to be one.
#[test]
fn what_was_sent_on_is_refused_unless_its_sender_is_trusted() {
    run(async {
        let (url, sandbox) = (PostgresServer::shared().database(), sandbox(Duration::ZERO).await);
        let first = Gateway::start(untrusting(&sandbox, "a", &url)).await;
        let caller = first.open_account("acme", "10").await;
        let balance = async |caller: &Caller, headers: &[(&str, &str)]| {
            let answer = caller.send("GET", "/v1/balance", headers, "").await;
            (answer.status, answer.text().contains("does not trust the one that has sent the request on"))
        };
        assert_eq!(balance(&caller, &[]).await, (200, false));
        assert_eq!(balance(&caller, &[("gatehouse-sent-on-by", "b")]).await, (503, true));
        let setup = of_fleet(&sandbox, "b", &url).with_pepper_of(&first);
        let through_standby = caller.at(setup.inherited_address());
        let second = tokio::spawn(Gateway::start(setup));
        until("the standby sends on", async || balance(&through_standby, &[]).await == (503, true)).await;
        assert!(first.log_text().contains("is not in server.trusted_proxies"), "{}", first.log_text());
        assert_eq!(balance(&caller, &[]).await, (200, false));
        drop(first);
        let _second = second.await.expect("the second one starts");
        assert_eq!(balance(&through_standby, &[]).await, (200, false));
    });
}
