//! Shared calls of many tasks: one call for all of them, and what happens where that does not work.
//!
//! The clock stands still: a group's window ends when the test moves it. Each task that waits in a group also waits for
//! its deadline, so the clock tells how many there are.

use std::collections::BTreeMap;
use std::time::Duration;

use gatehouse_harness::{Received, reply};
use gatehouse_model::{Credits, Status, TaskId};
use serde_json::{Value, json};

use crate::tests::support::PuppetTest;

const WINDOW_MS: u64 = 100;
/// Between the calls of two groups.
const SPACING: Duration = Duration::from_secs(1);
const TIME_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Answers a merged call with the number of each item, but for those it does not know.
fn answer(received: &Received) -> gatehouse_harness::Reply {
    if received.path() != "/bulk" {
        return reply(200, &[], format!("own {}", received.path()));
    }
    let asked: Value = serde_json::from_str(received.text()).expect("JSON");
    let items = asked["items"].as_array().expect("items").iter().filter_map(Value::as_str);
    let answers: BTreeMap<&str, String> = items
        .filter(|item| !item.starts_with("lost"))
        .map(|item| (item, format!("answer to {item}")))
        .collect();
    reply(200, &[], serde_json::to_string(&answers).expect("JSON"))
}

impl PuppetTest {
    async fn start() -> Self {
        Self::with(answer, &["main"]).await
    }

    /// A task whose second call is shared.
    async fn submit(&self, key: &str, item: &str) -> TaskId {
        let shared = json!({
            "replay": "safe", "path": format!("/own/{item}"), "shared": {"key": key, "item": item},
        });
        let steps = json!([{"call": {"path": "/first"}}, {"call": shared}]);
        self.run(&steps).await
    }

    async fn submit_all(&self, key: &str, items: impl IntoIterator<Item = String>) -> Vec<(TaskId, String)> {
        let mut tasks = Vec::new();
        for item in items {
            tasks.push((self.submit(key, &item).await, item));
        }
        tasks
    }

    /// Ends the window once so many tasks wait.
    async fn close_window(&self, waiting: usize) {
        self.clock.armed_times(TIME_LIMIT, waiting).await;
        self.clock.armed(Duration::from_millis(WINDOW_MS)).await;
        self.clock.advance_ms(WINDOW_MS);
    }

    /// Everything the task's plugin was shown.
    async fn seen_by(&self, task: TaskId) -> String {
        let task = self.end_of(task).await;
        assert_eq!(task.status, Status::Completed, "{:?}", task.failure);
        String::from_utf8(task.public).expect("text")
    }

    /// Each of these was answered with that and its own item.
    async fn each_sees(&self, tasks: Vec<(TaskId, String)>, answer: &str) {
        for (task, item) in tasks {
            let seen = self.seen_by(task).await;
            assert!(seen.contains(&format!("{answer}{item}")), "{seen}");
        }
    }
}

fn items(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| format!("item{number}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_tasks_make_one_call_and_each_gets_its_own_reply() {
    let test = PuppetTest::start().await;
    let tasks = test.submit_all("poll", items(50)).await;
    test.close_window(50).await;
    for (task, item) in tasks {
        let seen = test.seen_by(task).await;
        assert!(seen.contains("reply 200") && seen.contains(&format!("answer to {item}\\")), "{seen}");
    }
    assert_eq!((test.calls("/first"), test.calls("/bulk"), test.calls("/own")), (50, 1, 0));
    assert!(test.process.store.examine().expect("readable").is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_task_alone_makes_its_own_call() {
    let test = PuppetTest::start().await;
    let task = test.submit("poll", "item").await;
    test.close_window(1).await;
    assert!(test.seen_by(task).await.contains("own /own/item"));
    assert_eq!((test.calls("/bulk"), test.calls("/own")), (0, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_another_key_are_another_call() {
    let test = PuppetTest::start().await;
    let mut tasks = test.submit_all("poll", items(2)).await;
    tasks.extend(test.submit_all("status", items(2)).await);
    test.clock.armed_times(Duration::from_millis(WINDOW_MS), 2).await;
    test.close_window(4).await;
    test.each_sees(tasks, "answer to ").await;
    assert_eq!((test.calls("/bulk"), test.calls("/own")), (2, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_without_a_reply_makes_its_own_call() {
    let test = PuppetTest::start().await;
    let tasks = test.submit_all("poll", ["item1", "lost", "item2"].map(str::to_owned)).await;
    test.close_window(3).await;
    for (task, item) in tasks {
        let own = if item == "lost" { "own /own/lost".to_owned() } else { format!("answer to {item}") };
        let seen = test.seen_by(task).await;
        assert!(seen.contains(&own), "{seen}");
    }
    assert_eq!((test.calls("/bulk"), test.calls("/own")), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_cannot_be_merged_or_split_are_made_one_by_one() {
    for (key, bulk) in [("lazy merge", 0), ("lazy split", 1)] {
        let test = PuppetTest::start().await;
        let tasks = test.submit_all(key, items(3)).await;
        test.close_window(3).await;
        test.each_sees(tasks, "own /own/").await;
        assert_eq!((test.calls("/bulk"), test.calls("/own")), (bulk, 3), "{key}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merged_call_that_nobody_answers_is_made_one_by_one() {
    let test = PuppetTest::with(
        |received| {
            // A body that ends before its announced length: the connection breaks.
            let cut = [("content-length", "1000")];
            if received.path() == "/bulk" { reply(200, &cut, "{") } else { answer(received) }
        },
        &["main"],
    )
    .await;
    let tasks = test.submit_all("poll", items(3)).await;
    test.close_window(3).await;
    test.each_sees(tasks, "own /own/").await;
    assert_eq!(test.calls("/own"), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_whose_reply_is_too_large_is_halved() {
    let too_large = vec![b' '; 9 << 20];
    let test = PuppetTest::with(
        move |received| {
            let items = received.text().matches("item").count();
            // The name of the field is one of them.
            if items > 3 { reply(200, &[], too_large.clone()) } else { answer(received) }
        },
        &["main"],
    )
    .await;
    let tasks = test.submit_all("poll", items(5)).await;
    test.close_window(5).await;
    let mut own = 0;
    for (task, item) in tasks {
        let seen = test.seen_by(task).await;
        own += usize::from(seen.contains(&format!("own /own/{item}")));
        assert!(seen.contains(&format!("answer to {item}")) || own == 1, "{seen}");
    }
    // Five, then two and three; three are too many again: one alone and two.
    assert_eq!((test.calls("/bulk"), test.calls("/own"), own), (4, 1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_of_one_key_are_a_second_apart() {
    let test = PuppetTest::start().await;
    let first = test.submit_all("poll", items(2)).await;
    test.close_window(2).await;
    test.each_sees(first, "answer to ").await;
    let next = test.submit_all("poll", items(2)).await;
    test.clock.armed_times(TIME_LIMIT, 2).await;
    test.clock.armed(SPACING).await;
    test.clock.advance(SPACING);
    test.each_sees(next, "answer to ").await;
    assert_eq!((test.calls("/bulk"), test.calls("/own")), (2, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_task_alone_makes_no_rest() {
    let test = PuppetTest::start().await;
    let alone = test.submit_all("poll", items(1)).await;
    test.close_window(1).await;
    assert!(test.seen_by(alone[0].0).await.contains("own /own/item0"));
    let next = test.submit_all("poll", items(2)).await;
    test.close_window(2).await;
    test.each_sees(next, "answer to ").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_whose_time_is_over_leaves_its_group() {
    let test = PuppetTest::start().await;
    let tasks = test.submit_all("poll", items(2)).await;
    test.clock.armed_times(TIME_LIMIT, 2).await;
    test.clock.advance(TIME_LIMIT);
    for (task, _) in tasks {
        let ended = test.end_of(task).await;
        assert_eq!((ended.status, ended.cost), (Status::Failed, Some(Credits::ZERO)));
        assert_eq!(ended.failure.expect("a failure").message, "Task timeout");
    }
    assert_eq!((test.calls("/bulk"), test.calls("/own")), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_waits_for_no_others() {
    let test = PuppetTest::start().await;
    let tasks = test.submit_all("poll", items(3)).await;
    test.clock.armed_times(TIME_LIMIT, 3).await;
    // The clock stands still: only the shutdown ends the window.
    test.process.driver.process.stop(Duration::from_secs(5), Duration::ZERO).await;
    assert_eq!((test.calls("/bulk"), test.calls("/own")), (1, 0));
    test.each_sees(tasks, "answer to ").await;
}
