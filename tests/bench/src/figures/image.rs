//! A picture of 20 MB inside the request: cut out at the edge, kept as a blob, written into the call again.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::arguments::Arguments;
use crate::gateway::{BenchGateway, request};
use crate::image_provider::{Jobs, png_uri};
use crate::load;
use crate::report::{self, line, mebibytes};

const PICTURE: usize = 20_000_000;

/// Submits such requests, and waits until the provider has read each whole.
pub(crate) async fn measure(arguments: &Arguments) {
    let count = arguments.count(40);
    let gateway = BenchGateway::start(arguments, 2, Jobs::Endless, Duration::from_secs(3600)).await;
    let body = json!({ "model": "ctx-pro", "prompt": "the same at night", "image_urls": [png_uri(PICTURE)] });
    let body = body.to_string();
    gateway.submit(10, request()).await;
    gateway.provider.counts().submissions.reach(10).await;
    let idle = gateway.process().resident();

    let (before, started) = (gateway.process().cpu(), Instant::now());
    let load = gateway.submit(count, body).await;
    gateway.provider.counts().submissions.reach(10 + count).await;
    let took = started.elapsed();
    let cpu = gateway.process().cpu().since(&before);
    report::load("requests accepted", "receipt", &load);
    line("requests handed to the provider", load::rate(count, took));
    report::cpu("each request, until handed over", &cpu, count);
    line("memory when idle", mebibytes(idle));
    line("memory at most, above idle", mebibytes(gateway.process().peak().saturating_sub(idle)));
}
