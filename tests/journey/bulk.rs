//! Polling by list: many open tasks of an account share their polls.
//!
//! 60 open tasks; `GATEHOUSE_OPEN_TASKS=5000` asks for the number of the goal, `GATEHOUSE_BINARY` for a release build.

use std::time::Duration;

use gatehouse_harness::{run, until, variable};
use serde_json::json;

use crate::journey::scene::Scene;

/// How often each task is read before the counts are compared.
const READS: u32 = 20;

#[test]
fn many_open_tasks_are_asked_for_by_list() {
    run(async {
        let count = variable("GATEHOUSE_OPEN_TASKS").map_or(60, |text| text.parse().expect("a number"));
        // Ms between the polls of one task: as many reads a second however many tasks there are.
        let pace = 400.max(count * 2);
        let pace = format!("[plugins.settings.journey.pace]\nshortest_ms = {pace}\nlongest_ms = {pace}\n");
        let scene = Scene::with(|settings| settings.job_time = Duration::from_hours(1), &pace).await;
        scene.gateway.command(&["account", "deposit", "acme", "1000000"]).await;
        let body = json!({"prompt": "a kite"});
        for chunk in (0..count).collect::<Vec<_>>().chunks(50) {
            futures_util::future::join_all(chunk.iter().map(|_| scene.submit("imagine", &body))).await;
        }
        let record = || scene.sandbox.midjourney_record();
        for reads in 1..=READS {
            until("every task was read once more", async || {
                let tasks = record().tasks;
                tasks.len() == count && tasks.iter().all(|task| task.listed + task.fetches >= reads)
            })
            .await;
        }
        let record = record();
        let listed: u32 = record.tasks.iter().map(|task| task.listed).sum();
        let fetched = record.accounts[0].fetches;
        let (first, last) = (record.lists[0].at, record.lists[record.lists.len() - 1].at);
        println!(
            "{count} tasks: in {} ms {} lists of {listed} reads together, {fetched} reads of one task",
            last - first,
            record.lists.len()
        );
        assert!(u64::from(listed) >= fetched * 20, "{listed} reads by list, {fetched} one by one");
        assert!(record.lists.iter().all(|list| list.ids >= 2));
        // A list takes all that is due within its window; more than one window an interval is the spread of the polls.
        let windows = (last - first) / 100 + 1;
        let full = (listed / 100) as usize;
        assert!(record.lists.len() <= usize::try_from(windows).expect("few") + full, "{windows} windows");
    });
}

#[test]
fn a_list_that_fails_or_forgets_a_task_fails_nobody() {
    run(async {
        let scene = Scene::start().await;
        let prompts =
            ["[[lost:2]]", "[[poll-500:2]]", "[[malformed-json:2]]", "[[unknown-status:3]]", "", "", "", ""];
        let looks = prompts.iter().enumerate().map(async |(number, marker)| {
            let task = scene
                .end("imagine", &json!({"prompt": format!("kite {number} {marker} [[slow:200]]")}))
                .await;
            assert_eq!(task["status"], "completed", "{marker}: {task}");
        });
        futures_util::future::join_all(looks).await;
        assert!(!scene.sandbox.midjourney_record().lists.is_empty());
    });
}
