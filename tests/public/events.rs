//! Events of a task over the real listener: to its end, across a kill, and not once more.

use std::time::Duration;

use gatehouse_harness::{Caller, Connection, Response, run};
use serde_json::{Value, json};

use crate::public::Scene;

async fn follow(
    caller: &Caller,
    address: std::net::SocketAddr,
    id: &str,
    last: Option<&str>,
) -> (Connection, Response) {
    let mut client = Connection::open(address).await;
    let bearer = caller.bearer();
    let host = address.to_string();
    let mut headers = vec![("Host", host.as_str()), ("Authorization", bearer.as_str())];
    headers.extend(last.map(|last| ("Last-Event-ID", last)));
    client.request("GET", &format!("/v1/tasks/{id}/events"), &headers, b"").await;
    let head = client.read_head().await.expect("a response");
    (client, head)
}

/// The end of a chunked body.
const LAST_CHUNK: &str = "0\r\n\r\n";

/// The next event: its id, name and data. Fails the test where the stream ends.
async fn event(client: &mut Connection) -> (String, String, Value) {
    loop {
        let text = client.read_until("\n\n").await;
        let field = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).map(str::to_owned)
        };
        if let (Some(id), Some(name), Some(data)) = (field("id"), field("event"), field("data")) {
            return (id, name, serde_json::from_str(&data).expect("JSON on one line"));
        }
    }
}

#[test]
fn a_task_is_followed_to_its_end_and_no_further() {
    run(async {
        let scene = Scene::start(Duration::from_millis(300)).await;
        let body = json!({"model": "ctx-pro", "prompt": "a kite"});
        let id = scene.caller.post("/v1/images/generations", &body).await.task_id();
        let (mut client, head) = follow(&scene.caller, scene.gateway.public, &id, None).await;
        assert_eq!((head.status, head.header("content-type")), (200, "text/event-stream; charset=utf-8"));
        let mut last = 0;
        let (number, data) = loop {
            let (number, name, data) = event(&mut client).await;
            let number: u64 = number.parse().expect("a number");
            assert!(number >= last, "{number} after {last}");
            last = number;
            match name.as_str() {
                "result" => break (number, data),
                other => assert!(["status", "progress"].contains(&other), "{other}: {data}"),
            }
        };
        assert_eq!(data, scene.caller.task(&id).await, "as the poll has it");
        client.until(LAST_CHUNK).await;
        let (_, head) = follow(&scene.caller, scene.gateway.public, &id, Some(&number.to_string())).await;
        assert_eq!(head.status, 204);
        let other = scene.gateway.open_account("other", "1").await;
        assert_eq!(follow(&other, scene.gateway.public, &id, None).await.1.status, 404);
    });
}

#[test]
fn a_kill_loses_no_end() {
    run(async {
        let mut scene = Scene::start(Duration::from_millis(200)).await;
        let body = |at: usize| json!({"model": "ctx-pro", "prompt": format!("kite {at}")});
        let mut tasks = Vec::new();
        for at in 0..8 {
            let id = scene.caller.post("/v1/images/generations", &body(at)).await.task_id();
            let (mut client, _) = follow(&scene.caller, scene.gateway.public, &id, None).await;
            let first = event(&mut client).await.0;
            tasks.push((id, first, client));
        }
        scene.gateway.crash().await;
        for (id, last, _broken) in tasks {
            let (mut client, head) = follow(&scene.caller, scene.gateway.public, &id, Some(&last)).await;
            assert_eq!(head.status, 200);
            let (number, name, data) = loop {
                let next = event(&mut client).await;
                if ["completed", "failed"].iter().any(|end| next.2["status"] == *end) {
                    break next;
                }
            };
            client.until(LAST_CHUNK).await;
            let name_of = if data["status"] == "completed" { "result" } else { "error" };
            assert_eq!((name.as_str(), &data), (name_of, &scene.caller.task(&id).await));
            let (_, head) = follow(&scene.caller, scene.gateway.public, &id, Some(&number)).await;
            assert_eq!(head.status, 204);
        }
    });
}
