//! The page of a task: what it says of a cancel, and that the steps are shown only where their read is on record.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_admin::{ApiRequest, LocalApi, Role};
use gatehouse_harness::until;
use gatehouse_model::{Status, TaskId};
use gatehouse_sample::{START, audit, beginning, change, task, task_id};
use gatehouse_store::Access;
use gatehouse_tasks::{Command, MemoryLedgerStorage, StepKind, StepRecord};

use super::client::Browser;
use super::scene::{Scene, logged_in};
use crate::pages::tasks::one::became;

/// What stands in the steps of the task alone.
const WORDS: &str = "a very private kite";

/// A task at work, with one step; its page.
async fn with_task(scene: &Scene) -> (TaskId, String) {
    let begin = beginning().into_iter().map(|one| one.command(&MemoryLedgerStorage::default(), START));
    let submit = Command::Submit { task: Box::new(task(1, 0, 0, 10, START)), idempotency: None };
    let step = StepRecord { at: START, took_ms: 1, what: StepKind::Decision { text: WORDS.to_owned() } };
    let change = Box::new(change(Status::Pending, 1));
    let advance = Command::Advance { id: task_id(1), revision: 0, change, at: START };
    let logged = Command::Logged { change: Box::new(advance), steps: vec![step], at: START };
    for command in begin.chain([submit, logged]) {
        scene.service.store.execute(command).await.unwrap().unwrap();
    }
    (task_id(1), format!("/tasks/{}", task_id(1)))
}

/// Whether the first that a new stream sends has the words of the steps.
async fn stream_shows_steps(browser: &Browser, page: &str) -> bool {
    let (mut connection, status) = browser.follow(&format!("{page}/live")).await;
    assert_eq!(status, 200);
    let first = connection.read_until("\n\n").await;
    assert!(first.starts_with("event: fragment\n") && first.contains("accepted"), "{first}");
    first.contains(WORDS)
}

async fn page_shows_steps(browser: &mut Browser, page: &str) -> bool {
    let answer = browser.get(page).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text().contains(WORDS)
}

/// The lines of the audit record about reads of the steps.
async fn lines(scene: &Scene, id: TaskId) -> usize {
    let api = LocalApi::new(Arc::clone(&scene.service), "test");
    let about = ApiRequest::get(&["audit"]).query("object", format!("tasks/{id}/steps"));
    let found = api.send(about.query("limit", 100)).await.unwrap().body;
    let lines = found["data"].as_array().unwrap();
    assert!(lines.iter().all(|line| line["request"]["operation"] == "listTaskSteps"), "{found}");
    lines.len()
}

/// Without it everybody with an operator's session reads what clients wrote, and nobody sees that they did.
#[tokio::test]
async fn no_steps_are_shown_without_a_line_and_a_page_and_its_stream_have_one() {
    let (scene, mut operator) = logged_in(Role::Operator).await;
    let (id, page) = with_task(&scene).await;
    assert!(stream_shows_steps(&operator, &page).await);
    assert_eq!(lines(&scene, id).await, 1, "a stream without a page");

    assert!(page_shows_steps(&mut operator, &page).await);
    assert_eq!(lines(&scene, id).await, 2);
    for expected in [2, 3] {
        assert!(stream_shows_steps(&operator, &page).await);
        assert_eq!(lines(&scene, id).await, expected, "the stream of the page, and another one");
    }
    // The page of one person is no line of another's.
    let mut other = scene.logged_in(Role::Operator).await;
    assert!(page_shows_steps(&mut other, &page).await && stream_shows_steps(&operator, &page).await);
    assert_eq!(lines(&scene, id).await, 5);

    let mut viewer = scene.logged_in(Role::Viewer).await;
    assert!(!page_shows_steps(&mut viewer, &page).await && !stream_shows_steps(&viewer, &page).await);
    assert_eq!(lines(&scene, id).await, 5);
    assert_eq!(operator.follow(&format!("/tasks/{}/live", task_id(9))).await.1, 404);
}

/// Without it the stream of a page puts in a moment later what the page has left out.
#[tokio::test]
async fn a_store_that_cannot_write_shows_no_steps_on_a_page_or_in_its_stream() {
    let (scene, mut operator) = logged_in(Role::Operator).await;
    let (id, page) = with_task(&scene).await;
    let writes = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&writes);
    scene.service.store.ask_engine(move |access| access == Access::Read || asked.load(Ordering::SeqCst));
    // The first command that cannot be written waits; those after it are refused.
    let store = scene.service.store.clone();
    let waiting = tokio::spawn(async move { store.execute(audit("late")).await });
    until("nothing is written", async || scene.service.store.is_unavailable()).await;
    assert!(!page_shows_steps(&mut operator, &page).await);
    assert!(!stream_shows_steps(&operator, &page).await);

    writes.store(true, Ordering::SeqCst);
    waiting.await.unwrap().unwrap().unwrap();
    assert_eq!(lines(&scene, id).await, 0);
    assert!(stream_shows_steps(&operator, &page).await);
    assert_eq!(lines(&scene, id).await, 1);
}

/// Without it an operator takes the money for given back while the provider still works, and charges.
#[tokio::test]
async fn a_task_whose_provider_is_asked_to_stop_is_not_told_as_refunded() {
    let (scene, mut operator) = logged_in(Role::Operator).await;
    let (_, page) = with_task(&scene).await;
    for (status, is_refunded) in [(202, false), (200, true)] {
        let text = operator.get(&format!("{page}?done={}", became(status))).await.text();
        assert_eq!(text.contains("got everything back"), is_refunded, "{text}");
        assert_eq!(text.contains("is asked to stop it"), !is_refunded, "{text}");
    }
}
