//! A newer version that reads older states badly: the rehearsal on live tasks refuses it and names them. Where a state
//! becomes unreadable only after the rehearsal, the task stays with the version that admitted it. Either way the task
//! ends on that version.

use gatehouse_harness::{puppet_claiming, run};
use serde_json::{Value, json};

use crate::hostile::scene::gateway::Scene;
use crate::hostile::scene::honest::Honest;

/// What the newer version does with a state, whether the task then runs on it, and the reported reason.
fn rows() -> Vec<(Value, bool, &'static str)> {
    vec![
        (json!({}), true, ""),
        (json!({"attack": "loop"}), false, "more than 1000 ms of processor time"),
        (json!({"attack": "grow"}), false, "more than 32 MiB of memory"),
        (json!({"attack": "recurse"}), false, "call stack exhausted"),
        (json!({"attack": "panic"}), false, "secret plans of the plugin"),
        (json!({"attack": "exit"}), false, "it called exit(1)"),
        (json!({"state-bytes": 70_000}), false, "state is larger than the limit of 65536 bytes"),
        (json!({"state-bytes": 20_000_000}), false, "data crossing the border is larger"),
        (json!({"refuse": "I cannot read version"}), false, "I cannot read version 1"),
        (json!({"attack": "flood the log"}), true, "more lines were dropped"),
    ]
}

/// Tasks under way whose states the newer build treats as the rows say; their provider has not answered yet.
async fn under_way(scene: &Scene, rows: &[(Value, bool, &'static str)]) -> Vec<String> {
    let mut tasks = Vec::new();
    for (migrate, ..) in rows {
        let gate = json!({"call": {"path": "/gate"}});
        let rest = json!({"wait": 0});
        let script = json!({"migrate": migrate, "steps": [gate, rest, rest, rest]});
        tasks.push(scene.submit(&script).await.task_id());
    }
    scene.until_called("/gate", rows.len()).await;
    tasks
}

async fn expect_ends(scene: &Scene, rows: &[(Value, bool, &'static str)], tasks: &[String], moves: bool) {
    for ((migrate, ..), task) in rows.iter().zip(tasks) {
        let task = scene.caller.end_of(task).await;
        assert!(task["status"] == "completed" && task["cost"] == 2.0, "{migrate}: {task}");
        let seen = task["result"]["seen"].as_str().expect("what it saw");
        assert_eq!(seen.starts_with("migrated"), moves, "{migrate}: {seen}");
    }
    scene.gateway.expect_sound_ledger().await;
}

fn newer() -> Value {
    json!({"version": "2.0.0", "state_version": 2, "reads_state": [1]})
}

#[test]
fn a_version_that_cannot_read_a_live_state_is_refused() {
    run(async {
        for row in rows().into_iter().filter(|(_, moves, _)| !moves) {
            let scene = Scene::start("").await;
            let rows = [row];
            let tasks = under_way(&scene, &rows).await;
            let honest = Honest::start(&scene.caller);
            let component = scene.component(&puppet_claiming(&newer()));
            let refused = scene.gateway.try_command(&["plugin", "install", &component]).await;
            let text = String::from_utf8_lossy(&[refused.stdout, refused.stderr].concat()).into_owned();
            let told = text.contains("rehearse") && text.contains("task_") && text.contains(rows[0].2);
            assert!(refused.status.code() == Some(1) && told, "{}: {text}", rows[0].0);
            scene.trap.open_gate();
            expect_ends(&scene, &rows, &tasks, false).await;
            assert!(honest.stop().await > 0);
        }
    });
}

/// What the newer build does with a state it could still read when it was rehearsed.
fn late_rows() -> Vec<(Value, bool, &'static str)> {
    let later = |row: (Value, bool, &'static str)| {
        let mut migrate = row.0;
        migrate["from-step"] = json!(2);
        (migrate, row.1, row.2)
    };
    rows().into_iter().filter(|(_, moves, _)| !moves).map(later).collect()
}

#[test]
fn a_state_that_cannot_be_read_after_the_switch_stays_with_its_version() {
    run(async {
        // Under watch the first faults would withdraw it, and nothing would be asked of it again.
        let scene = Scene::start("[plugins.canary]\nwindow_s = 0").await;
        let rows = late_rows();
        let mut tasks = Vec::new();
        for (migrate, ..) in &rows {
            // What follows from calls that may be repeated is not kept, so the rehearsal sees the first state.
            let safe = |path: &str| json!({"call": {"path": path, "replay": "safe"}});
            let rest = json!({"wait": 0});
            let steps = json!([safe("/early"), safe("/gate"), rest, rest, rest]);
            tasks.push(scene.submit(&json!({"migrate": migrate, "steps": steps})).await.task_id());
        }
        scene.until_called("/gate", rows.len()).await;
        scene.install(&puppet_claiming(&newer())).await;
        scene.trap.open_gate();
        expect_ends(&scene, &rows, &tasks, false).await;
        let log = scene.gateway.log_text();
        for ((migrate, _, words), task) in rows.iter().zip(&tasks) {
            let asked: Vec<_> = log
                .lines()
                .filter(|line| line.contains("state not migrated") && line.contains(task.as_str()))
                .collect();
            assert!(asked.len() == 1 && asked[0].contains(words), "{migrate}, asked {asked:?}");
        }
        let fresh = scene.finish(&json!({"migrate": {"refuse": "never asked"}})).await;
        assert_eq!(fresh["status"], "completed", "{fresh}");
    });
}

#[test]
fn a_build_that_reads_live_states_takes_them_over() {
    run(async {
        let scene = Scene::start("").await;
        let rows: Vec<_> = rows().into_iter().filter(|(_, moves, _)| *moves).collect();
        let tasks = under_way(&scene, &rows).await;
        scene.install(&puppet_claiming(&newer())).await;
        scene.trap.open_gate();
        expect_ends(&scene, &rows, &tasks, true).await;
        let log = scene.gateway.log_text();
        for (migrate, _, words) in &rows {
            assert!(log.contains(words), "the log lacks {words:?} for {migrate}");
        }
    });
}
