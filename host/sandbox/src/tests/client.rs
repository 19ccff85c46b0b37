//! A sandbox under a virtual clock, and requests to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{Sandbox, Settings};
pub(crate) use gatehouse_harness::{Connection, End, Response};
use image::ImageFormat;
use serde_json::{Value, json};

/// 2026-01-01T00:00:00Z.
pub(crate) const START_MS: u64 = 1_767_225_600_000;
pub(crate) const KEY: &str = "sandbox-key";
pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");

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
        // No test waits for a span to be over: it releases what is held.
        settings.hold = Duration::from_hours(1);
        change(&mut settings);
        Self { sandbox: Sandbox::start(settings).await.expect("starts"), clock }
    }

    pub(crate) fn advance(&self, span: Duration) {
        self.clock.fetch_add(u64::try_from(span.as_millis()).expect("short"), Ordering::Relaxed);
    }

    /// Submits to the context-image provider's pro model with the right key.
    pub(crate) async fn submit(&self, body: &Value) -> Response {
        self.submit_to("/v1/flux-kontext-pro", body).await.expect("a reply")
    }

    /// The reply, if any came.
    pub(crate) async fn submit_to(&self, path: &str, body: &Value) -> Option<Response> {
        call("POST", &self.submit_url(path), &[("x-key", KEY), JSON], body.to_string()).await
    }

    pub(crate) fn submit_url(&self, path: &str) -> String {
        format!("{}{path}", self.sandbox.context().submit)
    }

    /// Submits a body that is accepted; gives the polling address.
    pub(crate) async fn accepted(&self, body: &Value) -> String {
        let reply = self.submit(body).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()["polling_url"].as_str().expect("a polling_url").to_owned()
    }

    /// Fetches the file of a job that is ready at once.
    pub(crate) async fn file(&self, body: &Value) -> Response {
        fetch(&link(&self.accepted(body).await).await).await
    }
}

/// Polls once; gives the link to the file.
pub(crate) async fn link(polling: &str) -> String {
    let result = fetch(polling).await.json();
    result["result"]["sample"].as_str().unwrap_or_else(|| panic!("no sample: {result}")).to_owned()
}

pub(crate) fn prompt(text: &str) -> Value {
    json!({ "prompt": text, "seed": 1 })
}

/// GET, expecting some reply.
pub(crate) async fn fetch(url: &str) -> Response {
    call("GET", url, &[], "").await.expect("a reply")
}

/// What a client meets that downloads a file of `origin`.
pub(crate) async fn download(origin: &str, link: &str) -> String {
    if !link.starts_with(origin) {
        return format!("file at {}", link.split('/').nth(2).expect("a host"));
    }
    let reply = fetch(link).await;
    let cut = if reply.end == End::Whole { "" } else { " cut" };
    format!("file {} {}{cut}", reply.status, reply.header("content-type"))
}

/// Kind and size by the file's own bytes, all of it decoded.
pub(crate) fn decoded(file: &[u8]) -> (ImageFormat, u32, u32) {
    let kind = image::guess_format(file).expect("an image");
    let image = image::load_from_memory_with_format(file, kind).expect("a sound image");
    (kind, image.width(), image.height())
}

/// One request on a connection of its own: the reply as far as it came, if any came.
pub(crate) async fn call(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: impl AsRef<[u8]>,
) -> Option<Response> {
    let mut connection = open(method, url, headers, body).await?;
    if method == "HEAD" { connection.read_head().await } else { connection.try_read().await }
}

/// Sends a request, unless the connection is refused.
pub(crate) async fn open(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: impl AsRef<[u8]>,
) -> Option<Connection> {
    let (host, path) = url.strip_prefix("http://")?.split_at_checked(url[7..].find('/')?)?;
    let mut connection = Connection::try_open(host.parse().expect("an address")).await.ok()?;
    connection.request(method, path, headers, body.as_ref()).await;
    Some(connection)
}
