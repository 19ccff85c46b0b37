//! The real binary over a real PostgreSQL: what it keeps, kills and restarts, outages of the database, starts.

mod copies;
mod outages;
mod standby;
mod starts;
mod waiting;

use std::collections::BTreeSet;

use gatehouse_fault_injection::PostgresServer;
use gatehouse_harness::{Caller, Gateway, Setup, binary, run, send, until};
use serde_json::{Value, json};

use crate::lifecycle::webhooks;

const IMAGES: &str = "/v1/images/generations";
const PRICE: i64 = 4_000_000;

/// The table that names a database.
fn at(url: &str) -> String {
    format!("[data]\nurl = \"{url}\"\n\n")
}

fn words(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What a client and an operator see that must be the same after a restart, but for the address of the process in links.
async fn seen(gateway: &Gateway, caller: &Caller, tasks: &BTreeSet<String>) -> String {
    let mut seen = Vec::new();
    for task in tasks {
        seen.push(caller.task(task).await);
    }
    seen.push(caller.get("/v1/tasks?limit=10").await.json()["data"].take());
    for command in
        [&["account", "list"][..], &["key", "list"], &["tasks"], &["webhook", "list", "--account", "acme"]]
    {
        seen.push(gateway.json(command).await);
    }
    Value::Array(seen).to_string().replace(&gateway.public.to_string(), "here")
}

/// Whether the end of each task was told.
fn told(receiver: &webhooks::Receiver, tasks: &BTreeSet<String>) -> bool {
    let arrivals = receiver.all();
    let told = |task: &String| {
        let text = |body: &[u8]| String::from_utf8_lossy(body).into_owned();
        arrivals.iter().any(|arrival| text(&arrival.body).contains(task.as_str()))
    };
    tasks.iter().all(told)
}

/// Everything that a gateway keeps would be lost, or be wrong, with the store in a database.
#[test]
fn a_gateway_keeps_everything_in_a_database() {
    run(async {
        let server = PostgresServer::shared();
        let url = server.database();
        let (receiver, address) = webhooks::Receiver::start(|_, _| webhooks::Answer::Status(204)).await;
        let (mut gateway, caller) = webhooks::start_with(address, &at(&url)).await;
        webhooks::webhook(&gateway, &format!("http://{address}/hook")).await;

        let mut tasks = BTreeSet::new();
        for number in 0..3 {
            tasks.insert(webhooks::submit(&caller, &format!("picture {number}")).await);
        }
        for task in &tasks {
            assert_eq!(caller.end_of(task).await["status"], "completed");
        }
        let joined = json!({"model": "ctx-pro", "prompt": "once"});
        let twice = async || caller.post_with(&[("idempotency-key", "one")], IMAGES, &joined).await.task_id();
        let (first, second) = (twice().await, twice().await);
        assert_eq!(first, second);
        caller.end_of(&first).await;
        tasks.insert(first);
        for streaming in [false, true] {
            let messages = json!([{"role": "user", "content": "a word"}]);
            let body = json!({"model": "lm-sonnet-4-6", "max_tokens": 50, "messages": messages, "stream": streaming});
            let answer = caller.post("/v1/messages", &body).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert!(!streaming || answer.text().contains("message_stop"), "{}", answer.text());
        }
        until("every end was told", async || told(&receiver, &tasks)).await;
        gateway.account_without_holds("acme").await;
        gateway.expect_sound_ledger().await;

        let before = seen(&gateway, &caller, &tasks).await;
        gateway.crash().await;
        let caller = caller.at(gateway.public);
        assert_eq!(seen(&gateway, &caller, &tasks).await, before);
        assert_eq!(gateway.terminate().await, Some(0));
        // Without a gateway the commands take the database themselves.
        gateway.expect_sound_ledger().await;
        let account = gateway.account("acme").await;
        gateway.restart().await;
        assert_eq!(gateway.account("acme").await, account);
        assert_eq!(seen(&gateway, &caller.at(gateway.public), &tasks).await, before);
        assert!(!gateway.folder().join("data/core.redb").exists(), "no store beside the database");

        // People run SQL on money.
        let spent = server.ask(&url, "SELECT sum(spent) FROM ledger");
        assert_eq!(spent, account["spent"].to_string());
        let statement = gateway.command(&["account", "export", "acme"]).await;
        let file = gateway.folder().join("acme.jsonl");
        std::fs::write(&file, statement).expect("a file");
        gateway.command(&["verify", &file.display().to_string()]).await;
    });
}

/// Two writers would spend the same money twice; an operator would take a backup of a file that nothing is in.
#[test]
fn a_database_has_one_gateway_and_backups_of_its_own() {
    run(async {
        let url = PostgresServer::shared().database();
        let setup = || Setup::sandbox_mode(&binary(env!("CARGO_BIN_EXE_gatehouse"))).with(&at(&url));
        let gateway = Gateway::start(setup()).await;
        gateway.command(&["account", "open", "acme"]).await;

        let folder = tempfile::tempdir().expect("a folder");
        let other = folder.path().display().to_string();
        let (code, said) = gateway.refused(&["serve", "--data", &other]).await;
        assert!(code == Some(1) && said.contains("another gateway"), "{code:?}: {said}");
        let (code, said) = gateway.refused(&["account", "list", "--data", &other]).await;
        assert!(code == Some(1) && said.contains("another gateway"), "{code:?}: {said}");
        let (code, said) = gateway.refused(&["store", "migrate"]).await;
        assert_eq!(code, Some(1), "{said}");

        let (_, said) = gateway.refused(&["backup", &folder.path().join("new").display().to_string()]).await;
        assert!(said.contains("pg_dump") && said.contains("pepper"), "{said}");
        let (_, said) = gateway.refused(&["restore", &other]).await;
        assert!(said.contains("pg_restore"), "{said}");
        let ready = send(gateway.admin(), "GET", "/readyz", &[], "").await;
        assert_eq!(ready.status, 200, "{}", ready.text());
    });
}
