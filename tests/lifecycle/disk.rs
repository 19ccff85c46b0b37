//! A gateway on a small disk that another process fills: what writes is refused with the reason, what reads goes on, also
//! after a start on the full disk, and room is enough to serve again.

use std::net::SocketAddr;
use std::time::Duration;

use gatehouse_harness::{Caller, Gateway, Response, Setup, send, send_to, until};
use serde_json::{Value, json};

use crate::lifecycle::small_disk::SmallDisk;
use crate::lifecycle::{request, sandbox, setup, submits};

const IMAGES: &str = "/v1/images/generations";
/// The disk: a fresh data folder takes less than half of it.
const DISK_MIB: usize = 48;
/// Less than the mark of that disk, a tenth.
const LOW_KIB: u64 = 3 * 1024;

/// The gateway's admin listener, as its file says.
fn admin(disk: &SmallDisk) -> SocketAddr {
    let text = std::fs::read_to_string(disk.file("admin.json")).expect("the admin file");
    let admin: Value = serde_json::from_str(&text).expect("JSON");
    admin["address"].as_str().and_then(|address| address.parse().ok()).expect("an address")
}

/// The value of a metric of the store's disk.
async fn metric(at: SocketAddr, name: &str) -> String {
    let text = send(at, "GET", "/metrics", &[], "").await.text();
    let line = format!("{name} ");
    text.lines().find_map(|found| found.strip_prefix(&line)).unwrap_or_default().to_owned()
}

fn is_refused(answer: &Response) -> bool {
    if answer.status == 200 {
        return false;
    }
    let error = &answer.json()["error"];
    assert_eq!((answer.status, answer.header("retry-after")), (503, "30"), "{error}");
    assert!(answer.message().contains("disk is full"), "{error}");
    // Only the messages form has no reason.
    assert!(error.get("reason").is_none_or(|reason| reason == "disk_full"), "{error}");
    true
}

/// What is read, and a text, on a low disk.
async fn expect_reads(caller: &Caller, done: &str, link: &str) {
    let task = caller.task(done).await;
    assert_eq!(task["status"], "completed", "{task}");
    assert_eq!(send_to(link, &[]).await.status, 200);
    assert_eq!(caller.get("/v1/tasks?limit=1").await.status, 200);
}

async fn text(caller: &Caller) -> Response {
    let messages = json!([{"role": "user", "content": "hello"}]);
    caller.post("/v1/messages", &json!({"model": "sim", "max_tokens": 50, "messages": messages})).await
}

#[test]
fn a_full_disk_refuses_what_writes_and_serves_what_reads() {
    gatehouse_harness::run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let messages = sandbox.messages().origin.clone();
        let folder = tempfile::tempdir().expect("a folder");
        let setup: Setup = setup(&sandbox)
            .with_provider("messages", &messages, "{ header = \"x-api-key\" }", 16, &["main"])
            .with_model("sim", "messages", "messages", "claude-sonnet-4-6", "");
        let Some(disk) = SmallDisk::make(folder.path(), env!("CARGO_BIN_EXE_gatehouse"), DISK_MIB) else {
            // What needs no mount: a mark above any disk.
            return never_enough(setup.with("[data]\nmin_free_mib = 4294967295\n\n")).await;
        };
        let mut gateway = Gateway::start(setup.run_by(&disk.script.display().to_string()).compiles()).await;
        let caller = gateway.open_account("acme", "1000000").await;
        let first = caller.post(IMAGES, &request("the first")).await.task_id();
        let done = caller.end_of(&first).await;
        let link = done["result"]["images"][0]["url"][0].as_str().expect("a link").to_owned();

        // Accepted before the disk fills.
        let mut receipts = vec![first.clone()];
        for prompt in ["a kite", "a swing", "a slide"] {
            receipts.push(caller.post(IMAGES, &request(prompt)).await.task_id());
        }
        disk.fill(LOW_KIB);
        let low = "gatehouse_disk_low{disk=\"store\"}";
        until("the disk is low", async || metric(admin(&disk), low).await == "1").await;
        assert!(is_refused(&caller.post(IMAGES, &request("too late")).await));
        assert!(gateway.log_text().contains("a disk is nearly full: new tasks are refused"));
        expect_reads(&caller, &first, &link).await;
        assert_eq!(text(&caller).await.status, 200, "a text needs little room, and nothing durable");
        for task in &receipts {
            assert_eq!(caller.end_of(task).await["status"], "completed");
        }

        // Full to the last byte, and a start on it.
        disk.fill(0);
        gateway.crash().await;
        let caller = caller.at(gateway.public);
        let host = link.split('/').nth(2).expect("a host").to_owned();
        let link = link.replacen(&host, &gateway.public.to_string(), 1);
        expect_reads(&caller, &first, &link).await;
        assert!(is_refused(&caller.post(IMAGES, &request("no room")).await));
        let log = gateway.log_text();
        assert!(log.contains("admin.json is written once it has room"), "{log}");
        // The money of texts fills what is left, until nothing can be written: then they are refused too.
        until("texts are refused", async || is_refused(&text(&caller).await)).await;
        assert!(gateway.log_text().contains("the store's disk is full"));
        expect_reads(&caller, &first, &link).await;
        assert!(!gateway.exits_within(Duration::ZERO).await, "the process lives");

        // Room, and nothing else.
        disk.empty();
        until("new tasks are taken", async || {
            !is_refused(&caller.post(IMAGES, &request("room again")).await)
        })
        .await;
        until("texts are answered", async || !is_refused(&text(&caller).await)).await;
        until("the admin file is there", async || gateway.log_text().contains("admin.json is written\n"))
            .await;
        assert_eq!(metric(admin(&disk), low).await, "0");
        assert_eq!(metric(admin(&disk), "gatehouse_store_waits_for_room").await, "0");
        gateway.settled_account(&caller, "acme").await;
        for task in &receipts {
            assert_eq!(caller.task(task).await["status"], "completed");
        }
        assert!(submits(&sandbox).iter().all(|(prompt, count)| *count == 1 || prompt == "room again"));
        gateway.expect_sound_ledger().await;

        // A stop on a full disk ends, and loses nothing that was acknowledged.
        disk.fill(0);
        until("texts are refused", async || is_refused(&text(&caller).await)).await;
        assert_eq!(gateway.terminate().await, Some(0));
        disk.empty();
        gateway.restart().await;
        gateway.expect_sound_ledger().await;
    });
}

/// A gateway whose disk never has enough room.
async fn never_enough(setup: Setup) {
    let gateway = Gateway::start(setup).await;
    let caller = gateway.open_account("acme", "1000000").await;
    assert!(is_refused(&caller.post(IMAGES, &request("no room")).await));
    assert_eq!(text(&caller).await.status, 200);
    assert_eq!(metric(gateway.admin(), "gatehouse_disk_low{disk=\"store\"}").await, "1");
    assert!(gateway.log_text().contains("a disk is nearly full: new tasks are refused"));
}
