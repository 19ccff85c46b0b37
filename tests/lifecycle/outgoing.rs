//! What leaves for a provider by the operator's word alone: extra headers and parameters, and the proxy that connections go
//! through.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gatehouse_harness::{Gateway, Provider, Received, reply, run, serve_connections, until};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::TcpStream;

use crate::lifecycle::{sandbox, setup};

const LOGIN: &str = "proxy-authorization: Basic c2FuZGJveDprZXk=";

/// An answer in the text of which the provider quotes what it was sent.
fn echo(received: &Received) -> String {
    let text = format!("{} {}", received.header("x-token").unwrap_or_default(), received.target);
    json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}})
    .to_string()
}

/// Without it an API with a version in its query, or behind a gateway with a key of its own, cannot be used.
#[test]
fn extra_headers_and_parameters_go_along_and_are_not_shown() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let provider =
            Provider::start(|received| reply(200, &[("content-type", "application/json")], echo(received)))
                .await;
        let setup = setup(&sandbox)
            .with_provider("texts", &provider.url(), "\"none\"", 8, &["only"])
            .with(
                "[providers.texts]\nheaders = { x-team = \"red\", x-token = { file = \"SECRET\" } }\n\
                 query = { api-version = \"2026-01\", code = { file = \"SECRET\" } }\n\n",
            )
            .with_model("extra", "texts", "chat", "m", "");
        let gateway = Gateway::start(setup).await;
        let caller = gateway.open_account("acme", "100").await;
        let body = json!({"model": "extra", "messages": [{"role": "user", "content": "hello"}]});
        let answer = caller.post("/v1/chat/completions", &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let received = provider.only();
        assert_eq!(
            (received.header("x-team"), received.header("x-token")),
            (Some("red"), Some("sandbox-key"))
        );
        assert_eq!(received.target, "/v1/chat/completions?api-version=2026-01&code=sandbox-key");
        assert!(answer.text().contains("(secret)"), "{}", answer.text());
        for shown in [answer.text(), gateway.log_text(), gateway.command(&["check-config"]).await] {
            assert!(!shown.contains("sandbox-key"), "{shown}");
        }
    });
}

/// A proxy that knows one name; what it was asked for.
async fn proxy(provider: &Provider, asked: Arc<Mutex<Vec<String>>>) -> String {
    let target = provider.address;
    let address = serve_connections(move |mut stream: TcpStream| {
        let asked = Arc::clone(&asked);
        async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.expect("a head"));
            }
            let head = String::from_utf8(head).expect("text");
            let answer = match (head.starts_with("CONNECT provider.example:80 "), head.contains(LOGIN)) {
                (_, false) => "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
                (false, true) => "HTTP/1.1 403 Forbidden\r\n\r\n",
                (true, true) => "HTTP/1.1 200 Connection established\r\n\r\n",
            };
            asked.lock().expect("a list").push(head);
            stream.write_all(answer.as_bytes()).await.expect("an answer");
            if answer.contains("200") {
                let mut there = TcpStream::connect(target).await.expect("the provider");
                let _ = copy_bidirectional(&mut stream, &mut there).await;
            }
        }
    })
    .await;
    format!("http://{address}")
}

/// Without it a gateway in a network without a way out of its own reaches no provider, and neither do traces their collector and
/// people a registry of plugins.
#[test]
fn a_provider_is_reached_through_a_proxy() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let provider =
            Provider::start(|received| reply(200, &[("content-type", "application/json")], echo(received)))
                .await;
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let through = proxy(&provider, Arc::clone(&asked)).await;
        let folder = tempfile::tempdir().expect("a folder");
        let login = folder.path().join("login");
        std::fs::write(&login, "sandbox:key\n").expect("a file");
        let setup = setup(&sandbox)
            .with(&format!(
                "[traces]\nendpoint = \"http://collector.example:4318\"\nsample = 1.0\n\n[outgoing]\nproxy = \"{through}\"\nproxy_login = {{ file = \"{}\" }}\nno_proxy = [\".inside\"]\n\n",
                login.display()
            ))
            .with_provider("texts", "http://provider.example", "\"bearer\"", 8, &["only"])
            .with_provider("refused", "http://other.example", "\"bearer\"", 8, &["only"])
            .with_model("through", "texts", "chat", "m", "")
            .with_model("other", "refused", "chat", "m", "");
        let gateway = Gateway::start(setup).await;
        let caller = gateway.open_account("acme", "100").await;
        let body = |model: &str| json!({"model": model, "messages": [{"role": "user", "content": "hello"}]});
        let answer = caller.post("/v1/chat/completions", &body("through")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(provider.only().header("host"), Some("provider.example"));
        let connects = || asked.lock().expect("a list").clone();
        let to_provider = connects().iter().filter(|head| head.starts_with("CONNECT provider.")).count();
        assert!(to_provider == 1 && connects().iter().all(|head| head.contains(LOGIN)), "{:?}", connects());
        // A refusal says whose it is.
        assert_eq!(caller.post("/v1/chat/completions", &body("other")).await.status, 502);
        let log = gateway.log_text();
        assert!(log.contains("answered 403 to CONNECT other.example:80"), "{log}");
        // What is the operator's own goes the same way.
        until("traces are sent", async || {
            connects().iter().any(|head| head.starts_with("CONNECT collector.example:4318 "))
        })
        .await;
        let reference = "oci://registry.example/us/painter:1";
        let pulled = gateway.try_command(&["plugin", "install", reference]).await;
        let said = String::from_utf8_lossy(&pulled.stderr).into_owned();
        assert!(said.contains("answered 403 to CONNECT registry.example:443"), "{said}");
        assert!(!said.contains("c2FuZGJveDprZXk="), "{said}");
        assert!(!log.contains("c2FuZGJveDprZXk=") && !log.contains("sandbox:key"), "{log}");
        // What is on this machine is reached without it: the task's provider.
        caller.finish("/v1/images/generations", &json!({"model": "ctx-pro", "prompt": "x"})).await;
        assert!(connects().iter().all(|head| head.contains(".example:")), "{:?}", connects());
    });
}
