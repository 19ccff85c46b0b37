//! The access log line of a request: its fields, and no secret in it.

use std::cell::RefCell;
use std::io;
use std::sync::Once;

use tracing::Level;
use tracing_subscriber::fmt;

use crate::tests::TestEdge;

thread_local! {
    /// Every test runs on its own thread, so these are the lines of one test.
    static LINES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

struct Lines;

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LINES.with_borrow_mut(|lines| lines.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Captures log lines. Must run before the first line: a call site that was disabled once stays disabled.
pub(crate) fn capture() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = fmt().with_ansi(false).with_max_level(Level::INFO).with_writer(|| Lines).finish();
        tracing::subscriber::set_global_default(subscriber).expect("the only subscriber");
    });
}

#[tokio::test]
async fn a_request_leaves_one_line_without_secrets() {
    let edge = TestEdge::plain().await;
    let id = edge.backend.put(1, |_| {});
    let mut client = edge.connect().await;
    let reply = client.ask(edge.get(&format!("/v1/tasks/{id}?hidden=query"), "X-Hidden: header\r\n")).await;
    let request = reply.header("request-id").to_owned();
    assert_eq!(client.ask(edge.post("/v1/images/generations", r#"{"hidden":"body"}"#)).await.status, 200);
    drop(client);
    edge.server.drain(std::time::Duration::from_secs(30)).await;

    let text = LINES.with_borrow(|lines| String::from_utf8(lines.clone()).unwrap());
    let ours: Vec<&str> =
        text.lines().filter(|line| line.contains("gatehouse_edge::http::access_log")).collect();
    assert_eq!(ours.len(), 2, "{text}");
    let public = &edge.key[3..13];
    for part in [
        format!("request={request}"),
        "method=GET".to_owned(),
        "route=\"/v1/tasks/{task_id}\"".to_owned(),
        "status=200".to_owned(),
        format!("key=\"{public}\""),
        format!("sent={}", reply.body.len()),
        "whole=true".to_owned(),
    ] {
        assert!(ours[0].contains(&part), "{part}: {}", ours[0]);
    }
    assert!(ours[1].contains("received=17"), "{}", ours[1]);
    assert!(!text.contains("hidden") && !text.contains(&edge.key), "{text}");
}
