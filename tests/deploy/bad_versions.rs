//! Ten deployments under load, six of them of bad versions: no request fails, a version that fails a stage never serves,
//! one that fails only on real requests is rolled back, and every task finishes.
//!
//! Takes a few seconds. With 200 requests a second for a minute, by hand:
//! `GATEHOUSE_DEPLOY_SECONDS=60 cargo test --release -p gatehouse --test blackbox deploy::bad_versions::ten_deployments -- --nocapture`

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gatehouse_harness::{Caller, Gateway, component, run, until, variable};
use serde_json::{Value, json};

use crate::deploy::{Builds, IMAGES, start, versions};

const MARK: &[u8] = b"-saboteur-flaw-goes-here-";
const CLIENTS: usize = 4;
/// Between two requests of a client: 200 a second altogether.
const PACE: Duration = Duration::from_millis(20);

/// How long to go on; it also gives the minimum of requests of each client.
fn seconds() -> u64 {
    variable("GATEHOUSE_DEPLOY_SECONDS").map_or(1, |text| text.parse().expect("seconds"))
}

/// The saboteur with a flaw; `mark` makes another build of it.
fn saboteur(wasm: &[u8], flaw: u8, mark: u8) -> Vec<u8> {
    let mut wasm = wasm.to_vec();
    let found: Vec<usize> = (0..wasm.len() - MARK.len()).filter(|at| wasm[*at..].starts_with(MARK)).collect();
    assert_eq!(found.len(), 1, "the marker must be there exactly once");
    wasm[found[0]] = flaw;
    wasm.extend([0, 3, 1, b'b', mark]);
    wasm
}

/// Sends requests until `stop`; returns the tasks and the time of each answer.
async fn send_requests(
    caller: Caller,
    number: usize,
    min_requests: usize,
    stop: Arc<AtomicBool>,
) -> (Vec<String>, Vec<Duration>) {
    let (mut tasks, mut took) = (Vec::new(), Vec::new());
    let mut interval = tokio::time::interval(PACE);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while !stop.load(Ordering::SeqCst) || tasks.len() < min_requests {
        interval.tick().await;
        let begun = Instant::now();
        let prompt = format!("kite {number}-{}", tasks.len());
        let answer = caller.post(IMAGES, &json!({"model": "ctx-pro", "prompt": prompt})).await;
        took.push(begun.elapsed());
        tasks.push(answer.task_id());
    }
    (tasks, took)
}

/// Waits until that many versions are rolled back; requests go on meanwhile.
async fn until_rolled_back(gateway: &Gateway, count: usize) {
    let rolled_back =
        async || versions(gateway).await.iter().filter(|(_, state)| state == "rolled_back").count() >= count;
    until("versions are rolled back", rolled_back).await;
}

/// Each canary that was rolled back has a report by the gateway: which version it was, why, and which one serves instead.
async fn expect_canary_reports(gateway: &Gateway, rolled_back: &[&String]) {
    let canaries = async || -> Vec<Value> {
        let history = gateway.json(&["plugin", "history", "context-image"]).await;
        let reports = history["data"].as_array().expect("reports").clone();
        reports.into_iter().filter(|report| report["kind"] == "canary").collect()
    };
    until("every rollback has its report", async || canaries().await.len() == rolled_back.len()).await;
    let reports = canaries().await;
    let mut replaced: Vec<&str> = reports.iter().filter_map(|report| report["replaced"].as_str()).collect();
    let mut expected: Vec<&str> = rolled_back.iter().map(|digest| digest.as_str()).collect();
    replaced.sort_unstable();
    expected.sort_unstable();
    assert_eq!(replaced, expected);
    for report in &reports {
        assert_eq!((&report["who"], &report["outcome"]), (&json!("gateway"), &json!("switched")), "{report}");
        assert!(report["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{report}");
        assert!(report["digest"].as_str().is_some_and(|digest| !expected.contains(&digest)), "{report}");
    }
}

/// The operators' webhook was told of each, once.
async fn expect_canary_events(gateway: &Gateway, webhook: &str, rolled_back: &[&String]) {
    let shown = gateway.json(&["webhook", "show", webhook]).await;
    let mut told = Vec::new();
    for delivery in shown["deliveries"].as_array().expect("deliveries") {
        assert_eq!(delivery["event"], "canary.rolled_back", "{delivery}");
        let body: Value = serde_json::from_str(delivery["body"].as_str().expect("a body")).expect("JSON");
        assert_eq!(body["data"]["family"], "context-image", "{body}");
        told.push(body["data"]["rolled_back"].as_str().expect("a digest").to_owned());
    }
    let mut expected: Vec<String> = rolled_back.iter().map(|digest| (*digest).clone()).collect();
    told.sort_unstable();
    expected.sort_unstable();
    assert_eq!(told, expected);
}

#[test]
fn ten_deployments_six_of_them_bad_fail_no_request() {
    run(async {
        let (gateway, sandbox, caller) = start("").await;
        let made = gateway.json(&["webhook", "create", "https://hooks.invalid/", "--operators"]).await;
        assert_eq!(made["webhook"]["customer"], Value::Null, "{made}");
        let webhook = made["webhook"]["id"].as_str().expect("an id").to_owned();
        let (builds, wasm) = (Builds::new(), component("tests/deploy/fixtures/saboteur"));
        // A live task whose state every candidate is rehearsed on.
        let held = caller.post(IMAGES, &json!({"model": "ctx-pro", "prompt": "[[never-ready]]"})).await;
        assert_eq!(held.status, 200);
        while sandbox.context_record().submits.is_empty() {
            caller.get("/v1/tasks").await;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let min_requests = usize::try_from(seconds()).expect("few") * 200 / CLIENTS;
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                tokio::spawn(send_requests(caller.clone(), number, min_requests, Arc::clone(&stop)))
            })
            .collect();
        let install = async |name: String, bytes: Vec<u8>| {
            let file = builds.write(&name, &bytes).display().to_string();
            gateway.try_command(&["plugin", "install", &file, "--json"]).await
        };
        let mut rolled_back = 0;
        for (step, kind) in "gcglysgclg".bytes().enumerate() {
            let mark = u8::try_from(step).expect("ten");
            let bytes = match kind {
                b'g' => std::fs::read(builds.build(mark)).expect("a build"),
                flaw => saboteur(&wasm, flaw, mark),
            };
            let installed = install(format!("{step}.wasm"), bytes).await;
            let text = String::from_utf8_lossy(&installed.stdout).into_owned();
            let caught = match kind {
                b'y' => "self-test",
                b's' => "rehearse",
                _ => "",
            };
            assert_eq!(installed.status.success(), caught.is_empty(), "step {step}: {text}");
            if !caught.is_empty() {
                let refusal: Value = serde_json::from_str(&text).expect("a refusal as JSON");
                let stages = refusal["stages"].as_array().expect("stages");
                let last = stages.last().expect("at least one");
                assert_eq!((&last["stage"], &last["verdict"]), (&json!(caught), &json!("refused")), "{text}");
            }
            if matches!(kind, b'c' | b'l') {
                rolled_back += 1;
                until_rolled_back(&gateway, rolled_back).await;
            }
        }
        stop.store(true, Ordering::SeqCst);
        let (mut tasks, mut took) = (Vec::new(), Vec::new());
        for client in clients {
            let (their_tasks, their_times) = client.await.expect("no request failed");
            tasks.extend(their_tasks);
            took.extend(their_times);
        }
        for task in &tasks {
            assert_eq!(caller.end_of(task).await["status"], "completed");
        }
        took.sort();
        let at = |share: usize| took[(took.len() - 1) * share / 100];
        println!(
            "{} requests, 0 failed; p50 {:?}, p99 {:?}, slowest {:?}",
            took.len(),
            at(50),
            at(99),
            at(100)
        );
        let states: Vec<(String, String)> = versions(&gateway).await;
        let serving: Vec<&String> =
            states.iter().filter(|(_, state)| state == "active").map(|(digest, _)| digest).collect();
        let last = gatehouse_model::Digest::of(&std::fs::read(builds.build(9)).expect("a build")).to_string();
        assert_eq!(serving, [&last], "the last good one serves: {states:?}");
        let withdrawn: Vec<&String> =
            states.iter().filter(|(_, state)| state == "rolled_back").map(|(digest, _)| digest).collect();
        assert_eq!(withdrawn.len(), 4, "{states:?}");
        expect_canary_reports(&gateway, &withdrawn).await;
        expect_canary_events(&gateway, &webhook, &withdrawn).await;
        gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_component_copied_into_the_watch_folder_is_installed() {
    run(async {
        let outer = tempfile::tempdir().expect("a folder");
        let folder = outer.path().join("incoming");
        let more = format!("[plugins]\nwatch_folder = {:?}\n\n", folder.display().to_string());
        let (gateway, _sandbox, _caller) = start(&more).await;
        let builds = Builds::new();
        let good = std::fs::read(builds.build(1)).expect("a build");
        let put = |name: &str, bytes: &[u8]| {
            std::fs::write(folder.join(format!("{name}.part")), bytes).expect("a file");
            std::fs::rename(folder.join(format!("{name}.part")), folder.join(name)).expect("moved");
        };
        put("good.wasm", &good);
        put("text.wasm", b"no component at all");
        let reports = |into: &str| -> Vec<String> {
            let entries = std::fs::read_dir(folder.join(into)).expect("a folder");
            let paths = entries.map(|entry| entry.expect("an entry").path());
            let reports = paths.filter(|path| path.extension().is_some_and(|found| found == "json"));
            reports.map(|path| std::fs::read_to_string(path).expect("a report")).collect()
        };
        let taken = async || !folder.join("good.wasm").exists() && !folder.join("text.wasm").exists();
        until("both files are taken", taken).await;
        let (accepted, refused) = (reports("accepted"), reports("refused"));
        assert!(accepted.len() == 1 && accepted[0].contains("\"switch\""), "{accepted:?}");
        assert!(refused.len() == 1 && refused[0].contains("not a WebAssembly component"), "{refused:?}");
        let digest = gatehouse_model::Digest::of(&good).to_string();
        assert!(versions(&gateway).await.contains(&(digest, "active".to_owned())));
    });
}
