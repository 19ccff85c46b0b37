//! What operators see of a gateway that waits for the place of another, and what it does meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use gatehouse_fault_injection::PostgresServer;
use gatehouse_harness::{Gateway, run, send, until, until_some};
use serde_json::Value;

use super::standby::of_fleet;
use crate::lifecycle::{sandbox, setup};

/// The compiled code of a data folder, and when each file was written.
fn code(folder: &Path) -> BTreeMap<String, SystemTime> {
    let files = fs::read_dir(folder.join("data/plugins")).expect("a folder").flatten();
    files
        // One that is being written gets its name later.
        .filter_map(|file| {
            let written = file.metadata().ok()?.modified().expect("a moment");
            Some((file.file_name().to_string_lossy().into_owned(), written))
        })
        .filter(|(name, _)| name.ends_with(".cwasm"))
        .collect()
}

/// A command on the configuration of a gateway whose start goes on: whether it was done, and what it said.
async fn command(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_gatehouse"));
    command.arg("--config").arg(folder.join("gatehouse.toml")).arg("--data").arg(folder.join("data"));
    let output = command.args(arguments).output().await.expect("it runs");
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// A supervisor would restart a standby for ever, nobody would see that one waits, and a takeover would begin with a compilation.
#[test]
fn a_standby_is_healthy_has_metrics_and_compiles_before_its_turn() {
    run(async {
        let url = PostgresServer::shared().database();
        let sandbox = sandbox(Duration::ZERO).await;
        let mut b = Gateway::start(of_fleet(&sandbox, "b", &url)).await;
        b.open_account("acme", "10").await;
        let a = tokio::spawn(Gateway::start(of_fleet(&sandbox, "a", &url).with_pepper_of(&b)));
        until("the other one waits", async || b.command(&["fleet", "status"]).await.contains("a  standby"))
            .await;
        assert_eq!(b.terminate().await, Some(0));
        let mut a = a.await.expect("it takes over");
        let folder = b.folder().to_owned();
        let first = code(&folder).into_keys().next().expect("compiled code");
        let digest = first.split(['-', '.']).next().expect("a digest").to_owned();
        for name in code(&folder).into_keys().filter(|name| name.starts_with(&digest)) {
            fs::remove_file(folder.join("data/plugins").join(name)).expect("removed");
        }
        let left = code(&folder).len();
        let watching = async {
            until("it is a standby and healthy", async || {
                let (is_healthy, said) = command(&folder, &["health"]).await;
                is_healthy && said.contains("it is a standby, and a is at work")
            })
            .await;
            assert!(command(&folder, &["health", "--live"]).await.0);
            let (done, status) = command(&folder, &["fleet", "status", "--json"]).await;
            let status: Value = serde_json::from_str(&status).expect("JSON");
            assert!(done && status["nodes"][1]["role"] == "standby", "{status}");
            let file = fs::read_to_string(folder.join("data/admin-waiting.json")).expect("a file");
            let file: Value = serde_json::from_str(&file).expect("JSON");
            let admin = file["address"].as_str().expect("an address").parse().expect("an address");
            assert_eq!(send(admin, "GET", "/readyz", &[], "").await.status, 503);
            let page = send(admin, "GET", "/metrics", &[], "").await.text();
            assert!(page.lines().any(|line| line == "gatehouse_standby 1"), "{page}");
            assert!(!page.contains("{name=\"\"}"), "{page}");
            let lease = "gatehouse_at_work_lease_seconds{name=\"a\"} ";
            let lease = page.lines().find_map(|line| line.strip_prefix(lease)).expect("a lease");
            assert!(lease.parse::<f64>().is_ok_and(|left| left > 0.0 && left <= 10.0), "{page}");
            let compiled = until_some("it compiles", async || {
                let now = code(&folder);
                (now.len() > left && now.keys().any(|name| name.starts_with(&digest))).then_some(now)
            })
            .await;
            let ours = a.json(&["fleet", "status"]).await;
            assert_eq!(
                (&ours["nodes"][0]["role"], &ours["warnings"]),
                (&"at_work".into(), &serde_json::json!([]))
            );
            assert_eq!(a.terminate().await, Some(0));
            compiled
        };
        let ((), compiled) = tokio::join!(b.restart(), watching);
        assert_eq!(send(b.public, "GET", "/readyz", &[], "").await.status, 200);
        assert_eq!(code(&folder), compiled, "nothing was compiled at the takeover");
        assert!(!folder.join("data/admin-waiting.json").exists());
        let (is_healthy, said) = command(&folder, &["health"]).await;
        assert!(is_healthy && said == "ready\n", "{said}");
        let page = b.metrics().await;
        assert!(page.lines().any(|line| line == "gatehouse_standby 0"), "{page}");
        b.expect_sound_ledger().await;
    });
}

/// A mistyped database would start with every key refused, as if there had never been a customer.
#[test]
fn an_empty_database_in_place_of_the_one_of_a_folder_is_refused() {
    run(async {
        let server = PostgresServer::shared();
        let (own, other) = (server.database(), server.database());
        let sandbox = sandbox(Duration::ZERO).await;
        let mut gateway = Gateway::start(setup(&sandbox).with(&super::at(&own))).await;
        gateway.open_account("acme", "10").await;
        assert_eq!(gateway.terminate().await, Some(0));
        let right = gateway.config();
        gateway.set_config(&right.replace(&own, &other));
        for arguments in [&["serve"][..], &["account", "list"]] {
            let (done, said) = command(gateway.folder(), arguments).await;
            assert!(!done && said.contains("see that data.url names the right one"), "{said}");
        }
        gateway.set_config(&right);
        gateway.restart().await;
        assert!(gateway.command(&["account", "list"]).await.contains("acme"));
    });
}
