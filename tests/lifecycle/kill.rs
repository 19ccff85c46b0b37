//! SIGKILL at random moments under load, again and again. Afterwards every receipt is kept, no provider call was made
//! twice, and the balances agree with the tasks.
//!
//! Ten kills; `GATEHOUSE_KILLS`, `GATEHOUSE_BETWEEN`, `GATEHOUSE_SEED` and `GATEHOUSE_BINARY` ask for more, for a run
//! like another, or for another build. Clients repeat a request without an answer under the same
//! `Idempotency-Key`. So every prompt gets exactly one task, and the provider's record of prompts can be compared with the
//! gateway's tasks one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gatehouse_harness::{Caller, Gateway, PersistentClient, run};
use gatehouse_sandbox::{Sandbox, Settings};
use serde_json::Value;
use tokio::sync::{Notify, Semaphore};

use crate::gateways::settings;
use crate::lifecycle::{request, setting, setup, submits};

const CLIENTS: usize = 16;
/// Requests beyond those a kill waits for: some are in flight at the kill, at any speed of the clients.
const IN_FLIGHT: usize = 64;
/// Concurrency of the provider's account: no kill can leave more jobs in doubt.
const CONCURRENCY: usize = 64;
/// The price of a picture, in micro-credits, and what it costs the gateway's own account at the provider.
const PRICE: i64 = 4_000_000;
const COST: u64 = 4;
/// After every so many kills all tasks are read again, and `doctor` examines the ledger.
const OFTEN: usize = 10;
/// A prompt with it is accepted, and ends as refused by the provider: work that must cost nothing.
const REFUSED: &str = "[[moderated-output]]";

/// What the clients know.
struct Load {
    caller: Caller,
    /// A permit for every request up to the next kill, and for those in flight at the kill.
    permits: Semaphore,
    next: AtomicUsize,
    /// Task by prompt.
    receipts: Mutex<BTreeMap<String, String>>,
    lost_answers: AtomicUsize,
    more: Notify,
}

impl Load {
    fn known(&self) -> BTreeSet<String> {
        self.receipts.lock().expect("no panic").values().cloned().collect()
    }

    async fn until(&self, receipts: usize) {
        while self.receipts.lock().expect("no panic").len() < receipts {
            self.more.notified().await;
        }
    }
}

#[test]
fn no_acknowledged_task_is_lost_or_done_twice() {
    run(async {
        let kills = setting("GATEHOUSE_KILLS", 10);
        let seed = setting("GATEHOUSE_SEED", 20_261);
        // Receipts between two kills, at most.
        let between = setting("GATEHOUSE_BETWEEN", 100);
        println!("GATEHOUSE_SEED={seed} GATEHOUSE_KILLS={kills}");
        let mut random = fastrand::Rng::with_seed(seed as u64);
        let settings =
            Settings { max_in_flight: 100_000, credits: 1 << 40, ..settings(Duration::from_millis(30)) };
        let sandbox = Sandbox::start(settings).await.expect("a sandbox");
        let limits = format!("[providers.bfl]\nconcurrency = {CONCURRENCY}\n");
        let mut gateway = Gateway::start(setup(&sandbox).with(&limits).with_inherited_socket()).await;
        let load = Arc::new(Load {
            caller: gateway.open_account("acme", "10000000").await,
            permits: Semaphore::new(0),
            next: AtomicUsize::new(0),
            receipts: Mutex::default(),
            lost_answers: AtomicUsize::new(0),
            more: Notify::new(),
        });
        let (begun, address) = (Instant::now(), gateway.public);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| tokio::spawn(client(Arc::clone(&load), PersistentClient::new(address))))
            .collect();

        let mut reader = Reader::new(PersistentClient::new(address), load.caller.clone());
        let (mut target, mut moments, mut slowest) = (0, Vec::new(), Duration::ZERO);
        for kill in 1..=kills {
            let more = random.usize(1..between);
            target += more;
            load.permits.add_permits(more + IN_FLIGHT);
            load.until(target).await;
            for _ in 0..random.usize(0..200) {
                tokio::task::yield_now().await;
            }
            let known = load.known();
            gateway.kill().await;
            moments.push(now());
            if random.usize(0..6) == 0 {
                // In the middle of a start, too.
                gateway.restart_and_kill_after(Duration::from_millis(random.u64(1..200))).await;
                moments.push(now());
            }
            let started = Instant::now();
            gateway.restart().await;
            slowest = slowest.max(started.elapsed());
            let full = kill % OFTEN == 0;
            reader.check(&known, full).await;
            let twice: Vec<_> = submits(&sandbox).into_iter().filter(|(_, count)| *count > 1).collect();
            assert!(twice.is_empty(), "kill {kill}: called twice: {twice:?}");
            if full {
                gateway.expect_sound_ledger().await;
                println!("{kill} kills, {} receipts", load.known().len());
            }
        }
        load.permits.close();
        for client in clients {
            client.await.expect("no panic");
        }
        let took = begun.elapsed();
        let account = gateway.settled_account(&load.caller, "acme").await;
        reader.check(&load.known(), true).await;
        gateway.expect_sound_ledger().await;

        let audit = gateway.audit(&["--limit", "1000000"]).await;
        let verdict = Verdict::of(&load, &reader, &sandbox, &audit, &moments);
        let receipts = reader.tasks.len();
        println!(
            "{kills} kills ({} of a start) in {took:.0?}: {receipts} receipts, {:.0}/s over all, slowest start {slowest:.0?}; \
             {} answers lost and requests repeated, {} jobs accepted by the provider; \
             {} completed, {} refused, {} in doubt, {} of them orphans, at most {} at one kill; imbalance 0",
            moments.len() - kills,
            receipts as f64 / took.as_secs_f64(),
            load.lost_answers.load(Ordering::SeqCst),
            sandbox.context_record().accepted,
            verdict.completed,
            verdict.refused,
            verdict.in_doubt,
            verdict.orphans,
            verdict.most,
        );
        let spent = verdict.completed * PRICE;
        assert_eq!(
            (account["spent"].as_i64(), account["reserved"].as_i64(), account["available"].as_i64()),
            (Some(spent), Some(0), Some(10_000_000_000_000 - spent)),
            "{account}"
        );
    });
}

/// Asks for one picture after the other; each until there is a receipt for it.
async fn client(load: Arc<Load>, mut connection: PersistentClient) {
    let bearer = load.caller.bearer();
    while let Ok(permit) = load.permits.acquire().await {
        permit.forget();
        let number = load.next.fetch_add(1, Ordering::SeqCst);
        let mark = if number.is_multiple_of(3) { REFUSED } else { "" };
        let (prompt, token) = (format!("kite {number}{mark}"), format!("kite-{number}"));
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", token.as_str()),
        ];
        let task = loop {
            let body = request(&prompt).to_string();
            match connection.send("POST", "/v1/images/generations", &headers, body).await {
                Ok(answer) => {
                    assert_eq!(answer.status, 200, "{}", answer.json());
                    break answer.task_id();
                }
                // The gateway is gone; whether it accepted the request is unknown.
                Err(_) => drop(load.lost_answers.fetch_add(1, Ordering::SeqCst)),
            }
        };
        let before = load.receipts.lock().expect("no panic").insert(prompt, task);
        assert_eq!(before, None, "a prompt is asked for by one client");
        load.more.notify_one();
    }
}

/// Reads tasks back and remembers how they ended.
struct Reader {
    connection: PersistentClient,
    caller: Caller,
    /// Every task ever listed, as it was last seen.
    tasks: BTreeMap<String, Value>,
}

impl Reader {
    fn new(connection: PersistentClient, caller: Caller) -> Self {
        Self { connection, caller, tasks: BTreeMap::new() }
    }

    /// Lists tasks, newest first, until every one of `known` that was not seen before is found, or to the end;
    /// what had ended must be as it was.
    async fn check(&mut self, known: &BTreeSet<String>, to_the_end: bool) {
        let mut missing: BTreeSet<&String> = known.iter().collect();
        if !to_the_end {
            missing.retain(|task| !self.tasks.contains_key(*task));
        }
        let mut after = String::new();
        while to_the_end || !missing.is_empty() {
            let bearer = self.caller.bearer();
            let path = format!("/v1/tasks?limit=100{after}");
            let answer = self.connection.send("GET", &path, &[("authorization", &bearer)], "").await;
            let page = answer.expect("a running gateway answers").json();
            for task in page["data"].as_array().unwrap_or_else(|| panic!("no list: {page}")) {
                let id = task["id"].as_str().expect("an id").to_owned();
                missing.remove(&id);
                self.see(id, task);
            }
            if page["has_more"] != true {
                break;
            }
            after = format!("&after={}", page["last_id"].as_str().expect("an id"));
        }
        assert!(missing.is_empty(), "receipts without a task: {missing:?}");
    }

    fn see(&mut self, id: String, task: &Value) {
        let short = serde_json::json!({
            "status": task["status"], "cost": task["cost"], "error": task["error"]["message"],
        });
        if let Some(before) = self.tasks.get(&id)
            && (before["status"] == "completed" || before["status"] == "failed")
        {
            assert_eq!(*before, short, "{id} had ended");
        }
        self.tasks.insert(id, short);
    }
}

/// What became of everything.
#[derive(Default)]
struct Verdict {
    completed: i64,
    refused: usize,
    /// Tasks whose call to the provider was under way at a kill.
    in_doubt: usize,
    /// Jobs at the provider that belong to no task.
    orphans: usize,
    /// The most tasks in doubt after one kill.
    most: usize,
}

impl Verdict {
    /// Compares the clients' receipts, the gateway's tasks, the provider's jobs and the audit record.
    fn of(load: &Load, reader: &Reader, sandbox: &Sandbox, audit: &[Value], moments: &[u64]) -> Self {
        let receipts = load.receipts.lock().expect("no panic");
        let record = sandbox.context_record();
        let accepted: BTreeSet<&str> = record.submits.iter().map(|submit| submit.prompt.as_str()).collect();
        assert_eq!(
            accepted.len() as u64,
            record.accepted,
            "the provider remembers every job, and none twice"
        );
        assert_eq!(reader.tasks.len(), receipts.len(), "a task for each prompt, and no other");

        let noted: BTreeSet<&str> = audit.iter().filter_map(|note| note["task"].as_str()).collect();
        assert_eq!(noted.len(), audit.len(), "one record for each call in doubt");
        let mut verdict = Self::default();
        let mut paid = 0;
        for (prompt, id) in receipts.iter() {
            let task = &reader.tasks[id];
            let (refused, taken) = (prompt.ends_with(REFUSED), accepted.contains(prompt.as_str()));
            if task["status"] == "completed" {
                assert!(taken && !refused && task["cost"] == 4.0, "{prompt}: {task}");
                assert!(!noted.contains(id.as_str()), "{prompt} was in doubt: {task}");
                verdict.completed += 1;
                paid += COST;
                continue;
            }
            assert!(task["status"] == "failed" && task["cost"] == 0.0, "{prompt}: {task}");
            if noted.contains(id.as_str()) {
                assert!(task["error"].as_str().is_some_and(|text| text.contains("restarted")), "{task}");
                verdict.in_doubt += 1;
                verdict.orphans += usize::from(taken);
                paid += if taken && !refused { COST } else { 0 };
            } else {
                assert!(taken && refused, "{prompt} failed for no reason: {task}");
                verdict.refused += 1;
            }
        }
        let billed: u64 = record.submits.iter().map(|submit| submit.cost).sum();
        assert_eq!(billed, paid, "what the provider was paid, by its own record and by the gateway's tasks");

        let mut at_kill = vec![0; moments.len()];
        for note in audit {
            let begun = begun(note["text"].as_str().expect("text"));
            let kill = moments.partition_point(|moment| *moment < begun);
            *at_kill.get_mut(kill).unwrap_or_else(|| panic!("in doubt without a kill: {note}")) += 1;
        }
        verdict.most = at_kill.into_iter().max().unwrap_or_default();
        assert!(verdict.most <= CONCURRENCY, "{} in doubt after one kill", verdict.most);
        verdict
    }
}

/// When the call was made that an audit record is about.
fn begun(text: &str) -> u64 {
    let moment = text.split("begun at ").nth(1).and_then(|rest| rest.split(' ').next());
    let moment = moment.and_then(|moment| humantime::parse_rfc3339(moment).ok());
    let since = moment.and_then(|moment| moment.duration_since(std::time::UNIX_EPOCH).ok());
    let since = since.unwrap_or_else(|| panic!("no moment in {text:?}"));
    u64::try_from(since.as_millis()).expect("this side of the year 500,000,000")
}

/// The wall clock, in the milliseconds of the audit record.
#[expect(clippy::disallowed_methods, reason = "compared with what the gateway wrote down")]
fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a sound clock");
    u64::try_from(since.as_millis()).expect("this side of the year 500,000,000")
}
