//! A task as events: numbers, names, where a client goes on, heartbeats, limits, and the end in a shutdown.

use gatehouse_harness::{Connection, Response};
use gatehouse_model::{FailureKind, Status, TaskId};
use serde_json::{Value, json};

use crate::tests::support::samples;
use crate::tests::{TestEdge, secs};

/// The end of a chunked body.
const LAST_CHUNK: &str = "0\r\n\r\n";

/// Asks for the events of a task and reads the head.
async fn follow(edge: &TestEdge, id: TaskId, query: &str, lines: &str) -> (Connection, Response) {
    let mut client = edge.connect().await;
    client.send(edge.get(&format!("/v1/tasks/{id}/events{query}"), lines)).await;
    let head = client.read_head().await.expect("a response");
    (client, head)
}

/// A stream whose head and first words were read.
async fn opened(edge: &TestEdge, id: TaskId, lines: &str) -> Connection {
    let (mut client, head) = follow(edge, id, "", lines).await;
    assert_eq!(head.status, 200, "{head:?}");
    assert_eq!(head.header("content-type"), "text/event-stream; charset=utf-8");
    assert_eq!(head.header("cache-control"), "no-cache, no-transform");
    assert_eq!(head.header("x-accel-buffering"), "no");
    assert_eq!(client.read_until("\n\n").await, "retry: 2000\n\n");
    client
}

/// The next event: number, name, data.
async fn event(client: &mut Connection) -> (u64, String, Value) {
    let text = client.read_until("\n\n").await;
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let part = |at: usize, name: &str| {
        let line = lines.get(at).unwrap_or_else(|| panic!("{text:?}"));
        line.strip_prefix(&format!("{name}: ")).unwrap_or_else(|| panic!("{text:?}")).to_owned()
    };
    assert_eq!(lines.len(), 3, "data on one line: {text:?}");
    let data = serde_json::from_str(&part(2, "data")).expect("JSON");
    (part(0, "id").parse().expect("a number"), part(1, "event"), data)
}

#[tokio::test]
async fn every_change_that_a_client_sees_is_an_event_and_the_last_one_ends_it() {
    let edge = TestEdge::plain().await;
    let id = edge.backend.put(1, |task| task.revision = 3);
    let mut client = opened(&edge, id, "").await;
    let (number, name, data) = event(&mut client).await;
    assert_eq!((number, name.as_str(), &data["status"]), (3, "status", &json!("submitted")));
    let working = |task: &mut gatehouse_model::Task| {
        (task.status, task.progress, task.revision) = (Status::Processing, 5, 4);
    };
    edge.backend.put(1, working);
    assert_eq!(event(&mut client).await.1, "status");
    // Nothing that a client would see.
    edge.backend.put(1, |task| {
        working(task);
        task.revision = 5;
    });
    edge.backend.put(1, |task| {
        working(task);
        (task.revision, task.progress) = (6, 40);
    });
    let (number, name, data) = event(&mut client).await;
    assert_eq!((number, name.as_str(), &data["progress"]), (6, "progress", &json!(40)));
    edge.backend.put(1, |task| {
        samples::complete(task);
        task.revision = 7;
    });
    let (number, name, data) = event(&mut client).await;
    assert_eq!((number, name.as_str(), &data["cost"]), (7, "result", &json!(4.5)));
    let read = edge.read(&format!("/v1/tasks/{id}")).await;
    assert_eq!(data, read.json()["data"], "the same as the poll");
    client.until(LAST_CHUNK).await;
}

#[tokio::test]
async fn a_client_goes_on_where_it_was() {
    let edge = TestEdge::plain().await;
    let id = edge.backend.put(1, |task| task.revision = 3);
    for (query, lines) in
        [("", "Last-Event-ID: 2\r\n"), ("?after=1", ""), ("", "Last-Event-ID: x\r\n"), ("?after=99", "")]
    {
        let (mut client, head) = follow(&edge, id, query, lines).await;
        assert_eq!((head.status, client.read_until("\n\n").await.as_str()), (200, "retry: 2000\n\n"));
        assert_eq!(event(&mut client).await.0, 3, "{query}{lines}");
    }
    // It has the present state: the next event is a later one.
    let mut client = opened(&edge, id, "Last-Event-ID: 3\r\n").await;
    edge.backend.put(1, |task| {
        samples::fail(task, FailureKind::Moderation, "no");
        task.revision = 4;
    });
    let (number, name, data) = event(&mut client).await;
    assert_eq!((number, name.as_str()), (4, "error"));
    assert_eq!(data["error"]["type"], "content_policy_violation");
    // It missed the end, or it has it: then it need not come again.
    assert_eq!(event(&mut opened(&edge, id, "Last-Event-ID: 3\r\n").await).await.1, "error");
    for (query, lines) in [("", "Last-Event-ID: 4\r\n"), ("?after=4", "")] {
        let (_, head) = follow(&edge, id, query, lines).await;
        assert_eq!((head.status, head.header("content-type")), (204, ""));
    }
    let (_, head) = follow(&edge, TaskId::from_bits(9), "", "").await;
    assert_eq!(head.status, 404);
}

#[tokio::test]
async fn a_quiet_stream_has_a_heartbeat() {
    let edge = TestEdge::with("limits = { keep_alive_seconds = 15 }").await;
    let id = edge.backend.put(1, |_| {});
    let mut client = opened(&edge, id, "").await;
    assert_eq!(event(&mut client).await.1, "status");
    for _ in 0..2 {
        edge.clock.armed(secs(15)).await;
        edge.clock.advance(secs(15));
        assert_eq!(client.read_until("\n\n").await, ": hb\n\n");
    }
    edge.backend.put(1, |task| (task.revision, task.progress) = (9, 9));
    assert_eq!(event(&mut client).await.1, "progress");
}

#[tokio::test]
async fn a_customer_has_so_many_streams() {
    let edge = TestEdge::with("limits = { task_streams_per_customer = 2 }").await;
    let id = edge.backend.put(1, |_| {});
    let (_first, mut second) = (opened(&edge, id, "").await, opened(&edge, id, "").await);
    let (_, refused) = follow(&edge, id, "", "").await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "1"));
    assert_eq!(event(&mut second).await.1, "status");
    edge.backend.put(1, |task| {
        samples::complete(task);
        task.revision = 2;
    });
    // One that ends makes room, and a 204 needs none.
    assert_eq!(event(&mut second).await.1, "result");
    let (_, over) = follow(&edge, id, "?after=2", "").await;
    assert_eq!(over.status, 204);
    drop(opened(&edge, id, "").await);
}

#[tokio::test]
async fn a_shutdown_ends_the_streams() {
    let edge = TestEdge::with("lame_duck_ms = 7000").await;
    let id = edge.backend.put(1, |_| {});
    let mut client = opened(&edge, id, "").await;
    assert_eq!(event(&mut client).await.1, "status");
    let (server, clock) = (edge.server, edge.clock);
    let lame_duck = tokio::spawn(async move {
        server.lame_duck().await;
        server
    });
    // Its client comes back to the next process.
    client.until(LAST_CHUNK).await;
    drop(client);
    clock.armed(secs(7)).await;
    clock.advance(secs(7));
    lame_duck.await.unwrap().drain(secs(30)).await;
}
