//! What leaves for a provider by the operator's word alone: extra headers and parameters, and the proxy that connections go
//! through.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gatehouse_harness::{Gateway, Provider, Received, reply, run, serve_connections, until};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::gateways::tls_provider;
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

async fn read_head(stream: &mut TcpStream) -> Vec<u8> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a head"));
    }
    head
}

/// A proxy that knows one name; what it was asked for.
async fn proxy(provider: &Provider, asked: Arc<Mutex<Vec<String>>>) -> String {
    let target = provider.address;
    let address = serve_connections(move |mut stream: TcpStream| {
        let asked = Arc::clone(&asked);
        async move {
            let head = String::from_utf8(read_head(&mut stream).await).expect("text");
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
        let (_, said) = gateway.refused(&["plugin", "install", reference]).await;
        assert!(said.contains("answered 403 to CONNECT registry.example:443"), "{said}");
        assert!(!said.contains("c2FuZGJveDprZXk="), "{said}");
        assert!(!log.contains("c2FuZGJveDprZXk=") && !log.contains("sandbox:key"), "{log}");
        // What is on this machine is reached without it: the task's provider.
        caller.finish("/v1/images/generations", &json!({"model": "ctx-pro", "prompt": "x"})).await;
        assert!(connects().iter().all(|head| head.contains(".example:")), "{:?}", connects());
    });
}

/// Bytes that pass a tunnel, as the proxy sees them.
type Seen = Arc<Mutex<Vec<u8>>>;

/// A proxy that passes every CONNECT on to `target` and writes down what goes each way.
async fn curious_proxy(target: SocketAddr, seen: Seen) -> String {
    let address = serve_connections(move |mut stream: TcpStream| {
        let seen = Arc::clone(&seen);
        async move {
            let head = read_head(&mut stream).await;
            seen.lock().expect("bytes").extend(head);
            stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.expect("an answer");
            let there = TcpStream::connect(target).await.expect("the provider");
            let ((client_reads, client_writes), (reads, writes)) = (stream.into_split(), there.into_split());
            tokio::join!(
                pass(client_reads, writes, Arc::clone(&seen)),
                pass(reads, client_writes, Arc::clone(&seen))
            );
        }
    })
    .await;
    format!("http://{address}")
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, seen: Seen) {
    let mut piece = vec![0; 16 << 10];
    while let Ok(length) = from.read(&mut piece).await {
        if length == 0 || to.write_all(&piece[..length]).await.is_err() {
            return;
        }
        seen.lock().expect("bytes").extend(&piece[..length]);
    }
}

/// Without it a proxy reads every key and prompt, or one that answers in a provider's place is believed.
#[test]
fn tls_is_spoken_with_the_provider_through_a_proxy() {
    run(async {
        let sandbox = sandbox(Duration::ZERO).await;
        let answer =
            |received: &Received| reply(200, &[("content-type", "application/json")], echo(received));
        let (provider, folder) = tls_provider("provider.example", &["h2", "http/1.1"], answer).await;
        let seen = Seen::default();
        let proxy = curious_proxy(provider.address, Arc::clone(&seen)).await;
        let setup = setup(&sandbox)
            .with(&format!(
                "[outgoing]\nproxy = \"{proxy}\"\n\n[fetch]\nextra_roots_file = \"{}\"\n\n",
                folder.path().join("roots.pem").display()
            ))
            .with_provider("texts", "https://provider.example", "\"bearer\"", 8, &["only"])
            .with_provider("others", "https://other.example", "\"bearer\"", 8, &["only"])
            .with_model("through", "texts", "chat", "m", "")
            .with_model("other", "others", "chat", "m", "");
        let gateway = Gateway::start(setup).await;
        let caller = gateway.open_account("acme", "100").await;
        let body =
            |model: &str| json!({"model": model, "messages": [{"role": "user", "content": "a quiet word"}]});
        let answer = caller.post("/v1/chat/completions", &body("through")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let received = provider.only();
        assert_eq!(received.header("authorization"), Some("Bearer sandbox-key"));
        assert_eq!(received.version, http::Version::HTTP_2, "agreed on within the tunnel");
        let passed = String::from_utf8_lossy(&seen.lock().expect("bytes")).into_owned();
        assert!(passed.starts_with("CONNECT provider.example:443 HTTP/1.1\r\n"), "{passed}");
        for secret in ["sandbox-key", "a quiet word", "chat.completion"] {
            assert!(!passed.contains(secret), "{secret}");
        }
        // The server that the proxy leads to has to show the certificate of the name that was asked for.
        assert_eq!(caller.post("/v1/chat/completions", &body("other")).await.status, 502);
        assert_eq!(provider.received().len(), 1, "no request was sent there");
        let log = gateway.log_text();
        assert!(log.contains("certificate") && log.contains("other.example"), "{log}");
    });
}
