//! Webhooks as a receiver gets them: the gateway posts the ends of tasks to a server of this test, and the official `OpenAI`
//! SDK for Node, which knows nothing of ours, verifies what came by its `client.webhooks.unwrap`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::mpsc;

use gatehouse_harness::{Gateway, Setup, run};
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::clients::CURRENT_NODE;

/// One post: its headers, and its body to the byte.
fn receive(stream: TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let (mut line, mut headers) = (String::new(), Map::new());
    reader.read_line(&mut line).ok()?;
    if !line.starts_with("POST ") {
        return None;
    }
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.into());
    }
    let length = headers.get("content-length")?.as_str()?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    reader.get_mut().write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").ok()?;
    Some(json!({ "headers": headers, "body": String::from_utf8(body).ok()? }))
}

/// A server that takes every post, and what it took. It ends with the test's process.
fn receiver() -> (String, mpsc::Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let (send, posts) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let taken = receive(stream);
            if taken.is_some_and(|post| send.send(post).is_err()) {
                return;
            }
        }
    });
    (address, posts)
}

/// The next post; the test's own limit of time ends a wait without one.
async fn next(posts: mpsc::Receiver<Value>) -> (Value, mpsc::Receiver<Value>) {
    tokio::task::spawn_blocking(move || (posts.recv().expect("a post"), posts)).await.expect("no panic")
}

/// What the SDK says of posts under a secret: one word each.
async fn judged(posts: &[Value], secret: &str) -> Vec<String> {
    let (program, folder) = CURRENT_NODE.ready();
    let mut command = Command::new(program);
    command.arg(folder.join("openai_webhooks.mjs")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().expect("the script starts");
    let input = json!({ "posts": posts, "secret": secret }).to_string();
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).await.expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().await.expect("an exit");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn openais_sdk_unwraps_what_the_gateway_posts() {
    run(async {
        let (address, posts) = receiver();
        let setup = Setup::sandbox_mode(env!("CARGO_BIN_EXE_gatehouse"))
            .with(&format!("[webhooks]\nallow_private = [\"{address}\"]"));
        let gateway = Gateway::start(setup).await;
        let key = gateway.open_account("acme", "1000").await;
        let url = format!("http://{address}/hook");
        let made = gateway.json(&["webhook", "create", &url, "--account", "acme"]).await;
        let secret = made["secret"].as_str().expect("a secret").to_owned();
        let webhook = made["webhook"]["id"].as_str().expect("an id").to_owned();

        let body = json!({ "model": "ctx-pro", "prompt": "a kite" });
        let receipt = key.post("/v1/images/generations", &body).await.json();
        let task = receipt["data"][0]["task_id"].as_str().expect("a task").to_owned();
        let (first, posts) = next(posts).await;
        let event: Value = serde_json::from_str(first["body"].as_str().expect("a body")).expect("JSON");
        assert_eq!(
            (&event["type"], &event["data"]["id"]),
            (&json!("task.completed"), &json!(task)),
            "{event}"
        );
        // The event says of the task what the public API says.
        let told = key.get(&format!("/v1/tasks/{task}")).await.json();
        assert_eq!(event["data"]["status"], told["data"]["status"], "{told}");

        let mut tampered = first.clone();
        tampered["body"] = first["body"].as_str().expect("a body").replace("completed", "failed").into();
        let mut late = first.clone();
        late["headers"]["webhook-timestamp"] = "1".into();
        let mut unsigned = first.clone();
        unsigned["headers"].as_object_mut().expect("headers").remove("webhook-signature");
        let all = [first.clone(), tampered, late, unsigned];
        assert_eq!(judged(&all, &secret).await, ["task.completed", "refused", "refused", "refused"]);

        // After a rotation both secrets verify, and no third one does.
        let rotated = gateway.json(&["webhook", "rotate", &webhook]).await;
        let new = rotated["secret"].as_str().expect("a secret").to_owned();
        let sent = first["headers"]["webhook-id"].as_str().expect("an id");
        gateway.command(&["webhook", "resend", sent]).await;
        let (again, posts) = next(posts).await;
        assert_eq!((&again["body"], &again["headers"]["webhook-id"]), (&first["body"], &json!(sent)));
        for known in [&secret, &new] {
            assert_eq!(judged(std::slice::from_ref(&again), known).await, ["task.completed"]);
        }
        let other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        assert_eq!(judged(std::slice::from_ref(&again), other).await, ["refused"]);

        // The same event again as one of a range, under its id.
        let range = ["webhook", "resend-range", &webhook, "--delivered", "--from", "2020-01-01T00:00:00Z"];
        assert_eq!(gateway.json(&range).await["resent"], 1);
        let (third, _posts) = next(posts).await;
        assert_eq!(third["headers"]["webhook-id"], json!(sent));
        let none = ["webhook", "resend-range", &webhook, "--before", "2020-01-01T00:00:00Z"];
        assert_eq!(gateway.json(&none).await["resent"], 0);
    });
}
