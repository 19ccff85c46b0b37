//! The life of an installation from the Debian package: installed, configured, started by its unit, upgraded under load, removed,
//! installed again over the same data, purged.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gatehouse_harness::{binary, run, try_send, until};
use serde_json::{Value, json};

use super::machine::Machine;
use super::{packaging, passes};
use crate::packages::install_if_missing;

const CLIENTS: usize = 4;
/// Answers before an upgrade, and after it.
const AROUND: usize = 20;

#[test]
fn an_installation_lives_through_an_upgrade_a_removal_and_its_return() {
    run(async {
        let machine = Machine::boot().await;
        // Compiled once for both packages.
        passes(&binary(env!("CARGO_BIN_EXE_gatehouse")), &["package-plugins", "code"], machine.shared());
        for version in ["0.1.0", "0.1.1"] {
            build(version, &machine);
        }
        judge(&machine).await;
        install(&machine, "0.1.0").await;
        assert_eq!(main_process(&machine).await, "0", "it runs before an operator has configured it");
        let public = configure(&machine).await;
        start(&machine).await;
        let key = open_account(&machine).await;
        ask(public, &key).await.expect("an answer");
        let own = machine
            .run("find", &["/var/lib/gatehouse/plugins", "-name", "*.wasm", "-o", "-name", "*.cwasm"])
            .await;
        assert!(
            own.contains(".wasm") && !own.contains(".cwasm"),
            "nothing is compiled that came along: {own}"
        );

        upgrade_under_load(&machine, public, &key).await;

        machine.run("dpkg", &["--no-triggers", "--remove", "gatehouse"]).await;
        assert_eq!(main_process(&machine).await, "0");
        ask(public, &key).await.expect_err("nobody listens");
        install(&machine, "0.1.1").await;
        // The account has paid for what was asked, and for no more.
        let (before, price) = (spent(&machine).await, spent_by_one(&machine, public, &key).await);
        assert!(price > 0 && before >= price && before.is_multiple_of(price), "{before} {price}");
        let checked: Value =
            serde_json::from_str(&machine.run("gatehouse", &["doctor", "--json"]).await).expect("JSON");
        assert_eq!((&checked["findings"], &checked["imbalance_micro"]), (&json!([]), &json!(0)), "{checked}");

        let told = machine.run("dpkg", &["--no-triggers", "--purge", "gatehouse"]).await;
        assert!(told.contains("are still in /var/lib/gatehouse"), "{told}");
        let is_there = async |path| machine.try_run("test", &["-e", path]).await.status.success();
        assert!(is_there("/var/lib/gatehouse/core.redb").await);
        assert!(!is_there("/etc/gatehouse").await && !is_there("/usr/bin/gatehouse").await);
        machine.off().await;
    });
}

fn build(version: &str, machine: &Machine) {
    let script = packaging().join("deb/build");
    let program = binary(env!("CARGO_BIN_EXE_gatehouse"));
    // A program with debug symbols is large, and nobody downloads this package.
    let arguments =
        ["DPKG_DEB_COMPRESSOR_TYPE=none", script.to_str().expect("a path"), &program, version, ".", "code"];
    passes("env", &arguments, machine.shared());
}

async fn install(machine: &Machine, version: &str) {
    let architecture = machine.run("dpkg", &["--print-architecture"]).await;
    let file = format!("/mnt/gatehouse_{version}_{}.deb", architecture.trim());
    machine.run("dpkg", &["--no-triggers", "--install", &file]).await;
}

/// Without it a distribution's own tools complain of what is shipped. The packages of tests are not compressed.
async fn judge(machine: &Machine) {
    install_if_missing(&["lintian"], &["lintian"]).await;
    let tags = "--suppress-tags=uses-no-compression-for-control-tarball,uses-no-compression-for-data-tarball";
    let package = fs::read_dir(machine.shared()).expect("a folder").flatten().map(|entry| entry.path());
    let mut packages = package.filter(|path| path.extension().is_some_and(|end| end == "deb"));
    let package = packages.next().expect("a package").display().to_string();
    passes("lintian", &["--allow-root", "--fail-on=error,warning", tags, &package], machine.shared());
}

/// What an operator writes: simulated providers, and the address of this machine that nobody else takes.
async fn configure(machine: &Machine) -> SocketAddr {
    let [_, _, second, third] = std::process::id().to_be_bytes();
    let address = IpAddr::from(Ipv4Addr::new(127, 43, second, third));
    let public = SocketAddr::new(address, 443);
    let port = format!("[Socket]\nListenStream=\nListenStream={public}\n");
    for (path, text) in [
        ("/etc/gatehouse/gatehouse.toml", "\n[sandbox]\nenabled = true\n"),
        ("/etc/systemd/system/gatehouse.socket.d/address.conf", &port),
    ] {
        let script = "mkdir -p \"$(dirname \"$1\")\" && printf %s \"$2\" >>\"$1\"";
        machine.run("sh", &["-ec", script, "sh", path, text]).await;
    }
    machine.run("gatehouse", &["check-config"]).await;
    public
}

async fn start(machine: &Machine) {
    machine.run("systemctl", &["daemon-reload"]).await;
    machine.run("systemctl", &["enable", "--now", "gatehouse.socket", "gatehouse.service"]).await;
    is_ready(machine).await;
}

async fn is_ready(machine: &Machine) {
    until("it serves", async || machine.try_run("gatehouse", &["health"]).await.status.success()).await;
}

/// The process that the unit runs; 0 where it does not.
async fn main_process(machine: &Machine) -> String {
    let shown =
        machine.run("systemctl", &["show", "--property=MainPID", "--value", "gatehouse.service"]).await;
    shown.trim().to_owned()
}

/// A secret of a customer with credit.
async fn open_account(machine: &Machine) -> String {
    machine.run("gatehouse", &["account", "open", "acme"]).await;
    machine.run("gatehouse", &["account", "deposit", "acme", "1000"]).await;
    let make = ["key", "create", "test", "--account", "acme", "--unlimited", "--json"];
    let made: Value = serde_json::from_str(&machine.run("gatehouse", &make).await).expect("JSON");
    made["secret"].as_str().expect("a secret").to_owned()
}

async fn spent(machine: &Machine) -> u64 {
    // Without a running gateway too: the command opens the store.
    let shown = machine.run("gatehouse", &["account", "show", "acme", "--json"]).await;
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    shown["spent_micro"].as_u64().expect("an amount")
}

async fn spent_by_one(machine: &Machine, public: SocketAddr, key: &str) -> u64 {
    let before = spent(machine).await;
    start(machine).await;
    ask(public, key).await.expect("an answer");
    machine.run("systemctl", &["stop", "gatehouse.service"]).await;
    spent(machine).await - before
}

async fn ask(public: SocketAddr, key: &str) -> Result<(), String> {
    let body = json!({"model": "sim-chat", "messages": [{"role": "user", "content": "Say hello"}]});
    let bearer = format!("Bearer {key}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let answer = try_send(public, "POST", "/v1/chat/completions", &headers, body.to_string().into()).await;
    match answer.map_err(|error| error.to_string())? {
        answer if answer.status == 200 => Ok(()),
        answer => Err(format!("{} {}", answer.status, answer.text())),
    }
}

async fn upgrade_under_load(machine: &Machine, public: SocketAddr, key: &str) {
    let (over, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (over, answers, key) = (Arc::clone(&over), Arc::clone(&answers), key.to_owned());
            tokio::spawn(async move {
                while !over.load(Ordering::SeqCst) {
                    ask(public, &key).await?;
                    answers.fetch_add(1, Ordering::SeqCst);
                }
                Ok::<_, String>(())
            })
        })
        .collect();
    let more = async || {
        let wanted = answers.load(Ordering::SeqCst) + AROUND;
        let enough = async || {
            answers.load(Ordering::SeqCst) >= wanted
                || clients.iter().any(tokio::task::JoinHandle::is_finished)
        };
        until("clients are answered", enough).await;
    };
    more().await;
    let old = main_process(machine).await;
    install(machine, "0.1.1").await;
    is_ready(machine).await;
    assert_ne!(main_process(machine).await, old, "the new program runs");
    more().await;
    over.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.expect("no panic").expect("every request is answered");
    }
}
