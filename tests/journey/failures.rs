//! Failures of the proxy: what the client reads, the refund, and how often the proxy was asked.

use gatehouse_harness::{message_of, run};
use serde_json::{Value, json};

use crate::faults::expect_all;
use crate::journey::scene::Scene;

const BANNED: &str = "Banned prompt detected";
const TIMEOUT: &str = "Task timeout";
const UNAVAILABLE: &str = "No available upstream";

/// Markers, and a part of the reason that the client reads.
const FAILING: &[(&str, &str)] = &[
    ("[[24]]", BANNED),
    ("[[banned-word]]", BANNED),
    ("[[banned-prompt]]", BANNED),
    ("[[run-timeout]]", TIMEOUT),
    ("[[task-timeout]]", TIMEOUT),
    ("[[submit-timeout]]", TIMEOUT),
    ("[[3]]", UNAVAILABLE),
    ("[[9]]", UNAVAILABLE),
    ("[[23]]", UNAVAILABLE),
    ("[[401]]", UNAVAILABLE),
    ("[[403]]", UNAVAILABLE),
    ("[[429]]", UNAVAILABLE),
    ("[[500]]", UNAVAILABLE),
    ("[[503-html]]", UNAVAILABLE),
    ("[[no-id]]", UNAVAILABLE),
    ("[[garbage-submit]]", UNAVAILABLE),
    ("[[submit-cut]]", UNAVAILABLE),
    ("[[lost]]", UNAVAILABLE),
    ("[[4]]", "parameters"),
    ("[[-1]]", "upstream"),
    ("[[invalid-parameter]]", "[Invalid parameter] `--ar 1:0` is not a valid aspect ratio"),
    ("[[invalid-link]]", "[Invalid link]"),
    ("[[image-denied]]", "[Image denied]"),
    ("[[engine-error]]", "upstream"),
    ("[[output-filter]]", "Request cancelled due to output filters"),
    ("[[not-processed]]", "Failed to process your command"),
    ("[[no-reason]]", "upstream"),
    ("[[cancelled]]", ""),
    ("[[no-picture]]", "upstream"),
    ("[[dead-link]]", "upstream"),
    ("[[foreign-link]]", "upstream"),
    ("[[private-link]]", "upstream"),
    ("[[wrong-type]]", "upstream"),
    ("[[truncated-file]]", "upstream"),
    ("--ar 1:1 --wind 3", "[Invalid parameter]"),
];

/// Markers after which the task still succeeds.
const SUCCEEDING: &[&str] = &[
    "[[22]]",
    "[[3:0]]",
    "[[9:2]]",
    "[[23:3]]",
    "[[429:1]]",
    "[[lost:3]]",
    "[[poll-500:3]]",
    "[[malformed-json:2]]",
    "[[unknown-status:3]]",
    "[[empty-status:3]]",
    "[[progress-null]][[slow:150]]",
    "[[odd-progress]][[slow:150]]",
    "[[no-buttons]]",
    "[[links]]",
    "[[delivery-503]]",
];

#[test]
fn each_failure_has_its_reason_and_costs_nothing() {
    run(async {
        let scene = Scene::start().await;
        let looks = FAILING.iter().map(async |(marker, reason)| {
            let prompt = format!("a kite {marker}");
            let task = scene.end("imagine", &json!({"prompt": prompt})).await;
            let view = scene.view(task["id"].as_str().expect("an id")).await;
            let message = message_of(&task);
            let exact = [BANNED, TIMEOUT, UNAVAILABLE].contains(reason);
            let fits =
                if exact { message == *reason } else { !message.is_empty() && message.contains(reason) };
            let money =
                task["status"] == "failed" && task["cost"] == 0.0 && task["error"]["code"] == "task_failed";
            let shown = view["status"] == "FAILURE" && view["fail_reason"] == message;
            // The proxy's accounts, hosts and own language are its operator's business.
            let clean = message.is_ascii()
                && !message.contains("1118138338562560102")
                && !message.contains("127.0.0.1");
            if fits && money && shown && clean {
                return Ok(());
            }
            Err(format!("  {marker}: expected {reason:?}\n    {task}\n    {view}"))
        });
        expect_all(looks).await;
        let account = scene.gateway.account_without_holds("acme").await;
        assert_eq!(
            (&account["spent"], &account["available"]),
            (&json!(0), &json!(100_000_000_000_u64)),
            "{account}"
        );
        scene.gateway.expect_sound_ledger().await;
        // What the proxy may have taken is never sent twice.
        for marker in ["[[no-id]]", "[[garbage-submit]]", "[[submit-cut]]"] {
            assert!(!scene.made(&format!("a kite {marker}")).answered, "{marker}");
        }
        let log = scene.gateway.log_text();
        assert!(!log.contains("sandbox-key"), "the log shows the proxy's secret");
    });
}

#[test]
fn passing_faults_cost_one_task() {
    run(async {
        let scene = Scene::start().await;
        let looks = SUCCEEDING.iter().map(async |marker| {
            let task = scene.end("imagine", &json!({"prompt": format!("a kite {marker}")})).await;
            let made = scene.made(&format!("a kite {marker}"));
            if task["status"] == "completed" && task["cost"] == 4.0 && made.answered {
                return Ok(());
            }
            Err(format!("  {marker}: {task}"))
        });
        expect_all(looks).await;
        let account = scene.gateway.account_without_holds("acme").await;
        assert_eq!(account["spent"], json!(4_000_000 * SUCCEEDING.len()), "{account}");
    });
}

/// Rows of a step: the marker in the first prompt, the route that meets it, and the reason.
#[test]
fn follow_ups_fail_and_are_refunded() {
    run(async {
        let scene = Scene::start().await;
        for (marker, reason) in [
            ("[[later:1]][[3]]", UNAVAILABLE),
            ("[[later:1]][[24]]", BANNED),
            ("[[later:1]][[output-filter]]", "Request cancelled due to output filters"),
            ("[[later:1]][[lost]]", UNAVAILABLE),
        ] {
            let grid = scene.grid(&format!("a kite {marker} --v 7")).await;
            let task = scene.end("upscale", &json!({"task_id": grid, "index": 1})).await;
            assert_eq!(
                (&task["error"]["message"], &task["cost"]),
                (&json!(reason), &json!(0)),
                "{marker}: {task}"
            );
        }
        // The proxy says that this was done before, and names the task: the client gets its result.
        let grid = scene.grid("a kite [[21]]").await;
        let first = scene.end("upscale", &json!({"task_id": grid, "index": 2})).await;
        let again = scene.end("upscale", &json!({"task_id": grid, "index": 2})).await;
        assert_eq!(
            (&first["status"], &again["status"]),
            (&json!("completed"), &json!("completed")),
            "{again}"
        );
        // A task that the proxy has forgotten cannot be followed up.
        let up = scene.single("a kite [[later:2]][[lost]] --v 7", 1).await;
        let gone = scene.end("high-variation", &json!({"task_id": up})).await;
        assert_eq!(gone["status"], "failed", "{gone}");
        let spent: f64 = all_tasks(&scene).await.iter().filter_map(|task| task["cost"].as_f64()).sum();
        let account = scene.gateway.account_without_holds("acme").await;
        assert_eq!(account["spent"].as_f64(), Some(spent * 1_000_000.0));
        scene.gateway.expect_sound_ledger().await;
    });
}

/// A refused or failed modal: the waiting task ends, refunded in full.
#[test]
fn modals_fail_and_are_refunded() {
    run(async {
        let scene = Scene::start().await;
        let up = scene.single("a kite --v 7", 1).await;
        let before = scene.gateway.account_without_holds("acme").await["spent"].clone();
        for (prompt, reason) in [
            ("a door [[24]]", BANNED),
            ("a door [[3]]", UNAVAILABLE),
            ("a door [[9]]", UNAVAILABLE),
            ("a door [[banned-prompt]]", BANNED),
            ("a door [[run-timeout]]", TIMEOUT),
            ("a door [[submit-cut]]", UNAVAILABLE),
            ("a door --wind 3", "[Invalid parameter]"),
        ] {
            let waiting = scene.waiting(&up).await;
            assert_eq!(scene.submit("modal", &json!({"task_id": waiting, "prompt": prompt})).await, waiting);
            let task = scene.caller.end_of(&waiting).await;
            let message = message_of(&task);
            assert!(message.contains(reason), "{prompt}: {task}");
            assert_eq!(task["cost"], 0.0, "{prompt}");
        }
        assert_eq!(scene.gateway.account_without_holds("acme").await["spent"], before);
        scene.gateway.expect_sound_ledger().await;
    });
}

async fn all_tasks(scene: &Scene) -> Vec<Value> {
    let list = scene.caller.get("/v1/tasks?limit=100").await.json();
    list["data"].as_array().expect("a list").clone()
}
