//! Misbehaviour while a request is judged and while its task runs: a table of scripts, all at once and beside
//! honest requests.

use futures_util::StreamExt as _;
use futures_util::stream;
use gatehouse_harness::{message_of, run};
use serde_json::{Value, json};

use crate::hostile::scene::gateway::Scene;
use crate::hostile::scene::honest::{self, Honest};

/// What the client reads.
enum End {
    /// No receipt: this status, these words.
    Refused(u16, &'static str),
    /// A receipt, then a failed task with these words, refunded in full.
    Failed(&'static str),
    /// Completed at this price, and these words stand in the result.
    Done(f64, &'static str),
}
use End::{Done, Failed, Refused};

const FAULT: End = Refused(500, "the plugin of model \"puppet-1\" failed on this request");
const BROKE: End = Failed("the model's plugin failed on this task");
const STEP_LIMIT: End = Failed("the model's plugin made no progress on this task");

/// Attacks that need nothing but a processor, and what the log says of each.
const ATTACKS: [(&str, &str); 8] = [
    ("loop", "more than 100 ms of processor time"),
    ("grow", "more than 32 MiB of memory"),
    ("recurse", "call stack exhausted"),
    ("panic", "secret plans of the plugin"),
    ("abort", "the plugin trapped"),
    ("exit", "it called exit(1)"),
    ("sleep", "it tried to wait or sleep"),
    ("forge the log", "calm\\r\\n2026-01-01T00:00:00Z ERROR gatehouse: forged\\u{1b}[2J"),
];

/// Each answer to a request, what the client reads, and what the log says.
fn submits() -> Vec<(Value, End, &'static str)> {
    vec![
        (json!({}), Done(2.0, "seen"), ""),
        (json!({"state-bytes": 20_000_000}), FAULT, "data crossing the border is larger"),
        (json!({"state-bytes": 100_000_000}), FAULT, "more than 32 MiB of memory"),
        (json!({"state-bytes": 70_000}), FAULT, "state is larger than the limit of 65536 bytes"),
        (json!({"progress": 101}), FAULT, "expected 0 to 100, got 101"),
        (json!({"progress": 255}), FAULT, "expected 0 to 100, got 255"),
        (json!({"stage": "processing", "progress": 99}), Done(2.0, "seen"), ""),
        (json!({"model": "ctx-pro"}), FAULT, "expected one of the manifest's model ids, got \"ctx-pro\""),
        (json!({"model": "puppet"}), FAULT, "expected one of the manifest's model ids"),
        (json!({"keys": []}), FAULT, "expected 1 to 16 price keys, got 0"),
        (json!({"keys": ["ctx-pro"]}), FAULT, "price key \"ctx-pro\" is not in the manifest"),
        (json!({"keys": {"$many": ["puppet", 17]}}), FAULT, "expected 1 to 16 price keys, got 17"),
        (json!({"quantity": u32::MAX}), Refused(402, "credits"), ""),
        (
            json!({"quantity": u32::MAX, "keys": ["puppet.dear"]}),
            Refused(500, "could not answer"),
            "more than can be counted",
        ),
        (json!({"lines": []}), FAULT, "expected 1 to 16 lines, got 0"),
        (json!({"lines": {"$many": [{}, 17]}}), FAULT, "expected 1 to 16 lines, got 17"),
        (json!({"lines": [{}, {}]}), FAULT, "line 1 has those of one before it"),
        (json!({"expected-ms": u32::MAX}), Done(2.0, "seen"), ""),
        (json!({"attack": "flood the log"}), Done(2.0, "seen"), "more lines were dropped"),
        (json!({"attack": "print"}), Done(2.0, "seen"), "more lines were dropped"),
        (json!({"refuse": {"$repeat": ["no ", 500_000]}, "field": "prompt"}), Refused(400, "no no no"), ""),
        (json!({"refuse": "a\r\nb\u{1b}[2J", "field": "x\ny"}), Refused(400, "a\r\nb"), ""),
        (json!({"doom": {"$repeat": ["doom ", 500_000]}}), Failed("doom doom"), ""),
    ]
}

/// Each step, what becomes of the task, and what the log says.
fn steps() -> Vec<(Value, End, &'static str)> {
    let raw = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let public = |bytes: &[u8]| json!({"done": {"public": {"$raw": raw(bytes)}}});
    let deep = ["[".repeat(200), "]".repeat(200)].concat();
    let picture = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    vec![
        (json!({"state-bytes": 70_000, "wait": 0}), BROKE, "state is larger than the limit of 65536 bytes"),
        (json!({"state-bytes": 20_000_000, "wait": 0}), BROKE, "data crossing the border is larger"),
        (json!({"done": {"public": {"big": {"$repeat": ["x", 15_000_000]}}}}), BROKE, "memory"),
        (
            json!({"done": {"public": {"big": {"$repeat": ["x", 2_000_000]}}}}),
            BROKE,
            "public and private record is larger than the limit of 1048576",
        ),
        (
            json!({"done": {"private": {"big": {"$repeat": ["x", 2_000_000]}}}}),
            BROKE,
            "public and private record is larger",
        ),
        (public(b"{"), BROKE, "public record is not acceptable: expected JSON"),
        (public(b""), BROKE, "public record is not acceptable: expected JSON"),
        (public(deep.as_bytes()), BROKE, "recursion limit exceeded"),
        (public(b"{\"a\":1e999}"), BROKE, "number out of range"),
        (
            json!({"done": {"private": {"$raw": "2261"}}}),
            BROKE,
            "private record is not acceptable: expected JSON",
        ),
        (json!({"progress": 200, "wait": 0}), BROKE, "expected 0 to 100, got 200"),
        (json!({"stage": "submitted", "progress": 0, "wait": 0}), Done(2.0, "Timer"), ""),
        (json!({"fail": {"$repeat": ["sorry ", 100_000]}}), Failed("sorry sorry"), ""),
        (json!({"done": {"settle": {"quantity": 1}}}), Done(2.0, ""), ""),
        (json!({"done": {"settle": {"quantity": 0}}}), Done(0.0, ""), ""),
        (
            json!({"done": {"settle": {"quantity": 2}, "products": [{"source": picture}]}}),
            Done(2.0, ""),
            "asked to bill more than was held",
        ),
        (
            json!({"done": {"settle": {"quantity": u32::MAX}}}),
            Done(2.0, ""),
            "asked to bill more than was held",
        ),
        (
            json!({"done": {"settle": {"keys": ["ctx-pro"]}}}),
            BROKE,
            "price key \"ctx-pro\" is not in the manifest",
        ),
        (json!({"done": {"public": {"a": "media:7", "b": "expires:0"}}}), Done(2.0, "media:7"), ""),
        (
            json!({"done": {"products": [{"source": "file:///etc/passwd"}]}}),
            BROKE,
            "expected an http(s), data or blob source",
        ),
        (
            json!({"done": {"products": {"$many": [{"source": picture}, 65]}}}),
            BROKE,
            "at most 64 are allowed, got 65",
        ),
        (
            json!({"done": {"products": [{"source": "http://169.254.169.254/latest/meta-data"}]}}),
            Done(2.0, "Lost"),
            "could not be copied",
        ),
        (
            json!({"done": {"products": [{"source": "https://localhost/x"}]}}),
            Done(2.0, "Lost"),
            "could not be copied",
        ),
        (
            json!({"done": {"products": [{"source": {"$file": "blob_00000000000000000000000000"}}]}}),
            Done(2.0, "not a file of this task"),
            "",
        ),
        (
            json!({"done": {"products": [{"source": "data:text/html;base64,PHNjcmlwdD4="}]}}),
            Done(2.0, "Lost"),
            "",
        ),
        (
            json!({"done": {"products": [{"source": "http://169.254.169.254/"}]}, "stay": true}),
            STEP_LIMIT,
            "exceeds its step limit without an end",
        ),
        (json!({"wait-at": u64::MAX}), BROKE, "within 24 h of now"),
        (json!({"wait-at": 0}), BROKE, "within 24 h of now"),
        (json!({"wait": -1}), BROKE, "within 24 h of now"),
        (json!({"wait": 86_400_001}), BROKE, "within 24 h of now"),
        (json!({"wait": 0, "stay": true}), STEP_LIMIT, "exceeds its step limit without an end"),
        (json!({"probe": [picture], "stay": true}), STEP_LIMIT, "exceeds its step limit without an end"),
        (
            json!({"call": {"method": "GET", "path": "/again", "replay": "safe"}, "stay": true}),
            STEP_LIMIT,
            "exceeds its step limit without an end",
        ),
        (
            json!({"call": {"provider": "bfl", "path": "/v1/credits"}}),
            BROKE,
            "provider \"bfl\" is not in the manifest",
        ),
        (json!({"probe": []}), BROKE, "expected at least one, got none"),
        (
            json!({"probe": {"$many": ["https://example.org/x", 10_000]}}),
            BROKE,
            "at most 64 are allowed, got 10000",
        ),
        (json!({"probe": ["file:///etc/passwd"]}), Done(2.0, "expected an http(s) URL"), ""),
        (
            json!({"probe": ["http://169.254.169.254/", "http://127.0.0.1/", "http://[::1]/", "blob:x"]}),
            Done(2.0, "is not a public address"),
            "",
        ),
        (json!({"attack": "flood the log", "wait": 0}), Done(2.0, "Timer"), "more lines were dropped"),
    ]
}

/// Internals that no client may read.
const INTERNALS: &[&str] =
    &["wasm", "panicked", "secret plans", "/rustc/", "src/", "0x", "trap:", "backtrace"];

#[test]
fn a_plugin_harms_its_own_request_only() {
    run(async {
        let scene = Scene::start("[tasks]\nsteps = 300\n").await;
        honest::serve(&scene.caller).await;
        let before = (scene.gateway.threads("plugin"), scene.gateway.memory_kib() / 1024);
        let funds = scene.gateway.account("acme").await;
        let honest = Honest::start(&scene.caller);

        let mut rows = Vec::new();
        for (attack, log) in ATTACKS {
            rows.push((json!({"submit": {"attack": attack}}), FAULT, log));
            rows.push((json!({"steps": [{"attack": attack}]}), BROKE, log));
        }
        rows.extend(submits().into_iter().map(|(submit, end, log)| (json!({"submit": submit}), end, log)));
        rows.extend(steps().into_iter().map(|(step, end, log)| (json!({"steps": [step]}), end, log)));
        let ends: Vec<Result<f64, String>> = stream::iter(&rows)
            .map(|(script, end, _)| check(&scene, script, end))
            .buffer_unordered(8)
            .collect()
            .await;

        let served = honest.stop().await;
        assert!(served > 0);
        let mut broken: Vec<String> = ends.iter().filter_map(|end| end.clone().err()).collect();
        let log = scene.gateway.log_text();
        let unexplained = rows.iter().filter(|(_, _, words)| !log.contains(*words));
        broken.extend(unexplained.map(|(script, _, words)| format!("the log lacks {words:?} for {script}")));
        assert!(broken.is_empty(), "{} of {}:\n{}", broken.len(), rows.len(), broken.join("\n"));
        assert!(
            !log.lines().any(|line| line.starts_with("2026-01-01")),
            "a plugin wrote a log line of its own"
        );

        let calls = scene.trap.seen_at("/again").len();
        assert!((1..=256).contains(&calls), "{calls} calls of one task that never waits");
        scene.gateway.expect_sound_ledger().await;
        let paid: f64 = ends.into_iter().map(|end| end.unwrap_or_default()).sum();
        #[expect(clippy::cast_precision_loss, reason = "some dozens")]
        let paid = paid + 4.0 * served as f64;
        let after = scene.gateway.account("acme").await;
        let micro = |account: &Value| account["available"].as_f64().expect("micro-credits");
        assert_eq!(micro(&funds) - micro(&after), paid * 1e6, "only what was completed is paid");
        assert_eq!(scene.gateway.threads("plugin"), before.0, "the threads are still there");
        let memory = scene.gateway.memory_kib() / 1024;
        assert!(memory < before.1 + 192, "{memory} MiB, before it were {}", before.1);
    });
}

/// Runs one row; its cost, or what is wrong with it.
async fn check(scene: &Scene, script: &Value, end: &End) -> Result<f64, String> {
    let answer = scene.submit(script).await;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let wrong = |text: &str| Err(format!("  {script}: {}", text.chars().take(600).collect::<String>()));
    if let Refused(status, words) = end {
        let error = &answer.json()["error"];
        let message = error["message"].as_str().unwrap_or_default();
        let well = answer.status == *status && message.contains(words) && message.len() <= 4096;
        return if well && !shows_internals(message) { Ok(0.0) } else { wrong(&text) };
    }
    if answer.status != 200 {
        return wrong(&text);
    }
    let task = scene.caller.end_of(&answer.task_id()).await;
    let message = message_of(&task);
    let (well, cost) = match end {
        Done(cost, words) => {
            (task["status"] == "completed" && task["result"].to_string().contains(words), *cost)
        }
        Failed(words) => {
            let fits = message.contains(words) && message.len() <= 4096 && !shows_internals(message);
            (task["status"] == "failed" && task["error"]["code"] == "task_failed" && fits, 0.0)
        }
        Refused(..) => (false, 0.0),
    };
    if well && task["cost"] == cost { Ok(cost) } else { wrong(&task.to_string()) }
}

fn shows_internals(message: &str) -> bool {
    INTERNALS.iter().any(|word| message.contains(word))
}

#[test]
fn a_status_never_goes_back() {
    run(async {
        let scene = Scene::start("").await;
        let gate = json!({"call": {"path": "/gate"}, "stage": "submitted", "progress": 1});
        let script = json!({"submit": {"stage": "processing", "progress": 90}, "steps": [gate]});
        let id = scene.submit(&script).await.task_id();
        while scene.trap.seen().is_empty() {
            scene.caller.get("/v1/tasks").await;
        }
        let task = scene.caller.task(&id).await;
        assert_eq!((&task["status"], &task["progress"]), (&json!("processing"), &json!(90)), "{task}");
        scene.trap.open_gate();
        assert_eq!(scene.caller.end_of(&id).await["status"], "completed");
    });
}

#[test]
fn two_calls_find_the_same_surroundings() {
    run(async {
        let scene = Scene::start("").await;
        let first = scene.finish(&json!({})).await["result"]["surroundings"].clone();
        let second = scene.finish(&json!({})).await["result"]["surroundings"].clone();
        assert_eq!(first, second);
        let text = first.as_str().expect("what it saw");
        assert!(text.starts_with("wall=0 passed=0 file=false made=false socket=false names=0"), "{text}");
    });
}
