//! A newer build that reads older states badly: the task stays with the build that admitted it, and the bad one is
//! asked once.

use gatehouse_tests::run;
use serde_json::{Value, json};

use crate::scene::end_of;
use crate::{Honest, Scene, puppet};

/// What the newer build does with a state, whether the task then runs on it, and what the log says.
fn rows() -> Vec<(Value, bool, &'static str)> {
    vec![
        (json!({}), true, ""),
        (json!({"deed": "loop"}), false, "more than 1000 ms of processor time"),
        (json!({"deed": "grow"}), false, "more than 32 MiB of memory"),
        (json!({"deed": "recurse"}), false, "call stack exhausted"),
        (json!({"deed": "panic"}), false, "secret plans of the plugin"),
        (json!({"deed": "exit"}), false, "it called exit(1)"),
        (json!({"state-bytes": 70_000}), false, "state is larger than the limit of 65536 bytes"),
        (json!({"state-bytes": 20_000_000}), false, "data crossing the border is larger"),
        (json!({"refuse": "I cannot read version"}), false, "I cannot read version 1"),
        (json!({"deed": "flood the log"}), true, "more lines were dropped"),
    ]
}

#[test]
fn a_build_that_cannot_read_a_state_leaves_the_task_where_it_was() {
    run(async {
        let scene = Scene::start("").await;
        let rows = rows();
        let mut receipts = Vec::new();
        for (migrate, ..) in &rows {
            let gate = json!({"call": {"path": "/gate"}});
            let rest = json!({"wait": 0});
            let script = json!({"migrate": migrate, "steps": [gate, rest, rest, rest]});
            receipts.push(scene.submit(&script).await.json());
        }
        while scene.trap.seen_at("/gate").len() < rows.len() {
            scene.caller.send("GET", "/v1/tasks", &[], "").await;
        }
        let honest = Honest::start(&scene.caller);
        let newer = json!({"version": "2.0.0", "state-version": 2, "reads-state": [1]});
        scene.install(&puppet::saying(&newer)).await;
        scene.trap.open_gate();
        for ((migrate, moves, _), receipt) in rows.iter().zip(&receipts) {
            let task = end_of(&scene.caller, receipt).await;
            assert!(task["status"] == "completed" && task["cost"] == 2.0, "{migrate}: {task}");
            let seen = task["result"]["seen"].as_str().expect("what it saw");
            assert_eq!(seen.starts_with("migrated"), *moves, "{migrate}: {seen}");
        }
        assert!(honest.stop().await > 0);
        let log = scene.house.log_text();
        for (migrate, _, words) in &rows {
            assert!(log.contains(words), "the log lacks {words:?} for {migrate}");
        }
        let asked = log.lines().filter(|line| line.contains("state not migrated")).count();
        assert_eq!(asked, rows.iter().filter(|(_, moves, _)| !moves).count(), "each task is tried once");
        scene.house.expect_clean_books().await;
    });
}
