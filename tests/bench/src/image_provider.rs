//! An image provider that only answers: submissions, polls, pictures. Speaks as much of the wire format as the
//! context-image family reads, and shares no code with a plugin.

use base64::Engine as _;
use bytes::Bytes;
use gatehouse_harness::serve_http;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::{Method, Request, Response};
use serde_json::{Value, json};
use tokio::sync::watch;

/// What a poll is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Jobs {
    /// Never ready.
    Endless,
    /// Ready when first counts.
    Instant,
}

/// The requests so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) submissions: usize,
    pub(crate) polls: usize,
    pub(crate) pictures: usize,
}

/// A running provider; it ends with the process.
pub(crate) struct Provider {
    origin: String,
    counts: watch::Sender<Counts>,
}

impl Provider {
    /// Listens on a free port.
    pub(crate) async fn start(jobs: Jobs) -> Self {
        let counts = watch::Sender::default();
        let shared = counts.clone();
        let address = serve_http(move |request| answer(shared.clone(), jobs, request)).await;
        Self { origin: format!("http://{address}"), counts }
    }

    /// Its addresses in the form the gateway reads.
    pub(crate) fn addresses(&self) -> Value {
        let origin = &self.origin;
        json!({ "submit": origin, "poll": origin, "delivery": origin, "samples": origin })
    }

    /// The requests so far.
    pub(crate) fn counts(&self) -> Counts {
        *self.counts.borrow()
    }

    /// Returns once there were enough requests.
    pub(crate) async fn wait_until(&self, enough: impl FnMut(&Counts) -> bool) {
        self.counts.subscribe().wait_for(enough).await.expect("the provider lives");
    }
}

async fn answer(
    counts: watch::Sender<Counts>,
    jobs: Jobs,
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    let host = request.headers().get("host").and_then(|host| host.to_str().ok());
    let origin = format!("http://{}", host.expect("a host"));
    if request.method() == Method::POST {
        let mut body = request.into_body();
        while let Some(Ok(_)) = body.frame().await {}
        let mut number = 0;
        counts.send_modify(|counts| {
            counts.submissions += 1;
            number = counts.submissions;
        });
        return text(format!(r#"{{"id":"{number}","polling_url":"{origin}/v1/get_result?id={number}"}}"#));
    }
    if request.uri().path() == "/picture" {
        counts.send_modify(|counts| counts.pictures += 1);
        return Response::new(Full::new(png(2048)));
    }
    counts.send_modify(|counts| counts.polls += 1);
    text(match jobs {
        Jobs::Endless => r#"{"id":"1","status":"Pending","result":null}"#.to_owned(),
        Jobs::Instant => {
            format!(r#"{{"id":"1","status":"Ready","result":{{"sample":"{origin}/picture","seed":1}}}}"#)
        }
    })
}

fn text(json: String) -> Response<Full<Bytes>> {
    Response::builder()
        .header("content-type", "application/json")
        .body(Full::new(json.into()))
        .expect("a literal header")
}

/// A file of `length` bytes that says of itself it is a PNG of 1024x1024; nobody on the way decodes one.
pub(crate) fn png(length: usize) -> Bytes {
    let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x04\0\0\0\x04\0\x08\x02\0\0\0\0\0\0\0".to_vec();
    // Bytes that differ, so that nothing along the way has an easy time with them.
    let filler = (0_u32..).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3]);
    let missing = length.saturating_sub(file.len());
    file.extend(filler.take(missing));
    file.into()
}

/// The same as a `data:` URI.
pub(crate) fn png_uri(length: usize) -> String {
    format!("data:image/png;base64,{}", base64::engine::general_purpose::STANDARD.encode(png(length)))
}
