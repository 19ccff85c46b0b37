//! A provider under a virtual clock, and a plain HTTP client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use gatehouse_sandbox::{Sandbox, Settings};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use url::Url;

/// 2026-01-01T00:00:00Z.
pub(crate) const START_MS: u64 = 1_767_225_600_000;
pub(crate) const KEY: &str = "sandbox-key";

pub(crate) struct TestSandbox {
    pub(crate) sandbox: Sandbox,
    clock: Arc<AtomicU64>,
}

impl TestSandbox {
    /// Jobs that are ready at once, time that stands still.
    pub(crate) async fn start() -> Self {
        Self::with(|settings| settings.job_time = Duration::ZERO).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let clock = Arc::new(AtomicU64::new(START_MS));
        let shown = Arc::clone(&clock);
        let mut settings = Settings::default().with_now(move || shown.load(Ordering::Relaxed));
        change(&mut settings);
        Self { sandbox: Sandbox::start(settings).await.expect("starts"), clock }
    }

    pub(crate) fn advance(&self, span: Duration) {
        self.clock.fetch_add(u64::try_from(span.as_millis()).expect("short"), Ordering::Relaxed);
    }

    pub(crate) fn submit_url(&self, path: &str) -> String {
        format!("{}{path}", self.sandbox.context().submit)
    }

    /// Submits to the pro model with the right key.
    pub(crate) async fn submit(&self, body: &Value) -> Reply {
        let url = self.submit_url("/v1/flux-kontext-pro");
        call(Method::POST, &url, &[("x-key", KEY), JSON], body.to_string()).await.expect("a reply")
    }

    /// Submits a body that is accepted; gives the polling address.
    pub(crate) async fn accepted(&self, body: &Value) -> String {
        let reply = self.submit(body).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()["polling_url"].as_str().expect("a polling_url").to_owned()
    }

    /// Submits, polls once and fetches: the file of a job that is ready at once.
    pub(crate) async fn file(&self, body: &Value) -> Reply {
        let polling = self.accepted(body).await;
        let result = fetch(&polling).await.json();
        let sample = result["result"]["sample"].as_str().unwrap_or_else(|| panic!("no sample: {result}"));
        fetch(sample).await
    }
}

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");

pub(crate) fn prompt(text: &str) -> Value {
    json!({ "prompt": text, "seed": 1 })
}

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The connection broke before the body's end.
    pub(crate) cut: bool,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }
}

/// GET, expecting some reply.
pub(crate) async fn fetch(url: &str) -> Reply {
    call(Method::GET, url, &[], String::new()).await.expect("a reply")
}

/// One request on a connection of its own; an error means that no reply came.
pub(crate) async fn call(
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Result<Reply, Box<dyn std::error::Error + Send + Sync>> {
    let url = Url::parse(url)?;
    let host = format!("{}:{}", url.host_str().expect("a host"), url.port().expect("a port"));
    let stream = tokio::net::TcpStream::connect(&host).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let target = url[url::Position::BeforePath..].to_owned();
    let mut request = Request::builder().method(method).uri(target).header("host", host);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = sender.send_request(request.body(Full::new(body.into()))?).await?;
    let (head, mut incoming) = response.into_parts();
    let (mut body, mut cut) = (BytesMut::new(), false);
    while let Some(frame) = incoming.frame().await {
        match frame {
            Ok(frame) => body.extend_from_slice(frame.data_ref().map_or(&[], |data| &data[..])),
            Err(_) => {
                cut = true;
                break;
            }
        }
    }
    connection.abort();
    Ok(Reply { status: head.status, headers: head.headers, body: body.freeze(), cut })
}
