//! A picture of 20 MB inside the request: cut out at the edge, kept as a blob, written into the call again.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::arguments::Arguments;
use crate::house::{Stand, request};
use crate::load;
use crate::provider::{Jobs, png_uri};
use crate::report::{self, line, mebibytes, millis};

const PICTURE: usize = 20_000_000;

/// Submits such requests, and waits until the provider has read each whole.
pub(crate) async fn measure(arguments: &Arguments) {
    let count = arguments.count(40);
    let stand = Stand::start(arguments, 2, Jobs::Endless, Duration::from_secs(3600)).await;
    let body = json!({ "model": "ctx-pro", "prompt": "the same at night", "image_urls": [png_uri(PICTURE)] });
    let body = body.to_string();
    stand.submit(10, request()).await;
    stand.provider.wait_until(|asked| asked.submissions >= 10).await;
    let idle = stand.process().resident();

    let (before, started) = (stand.process().cpu(), Instant::now());
    let load = stand.submit(count, body).await;
    stand.provider.wait_until(|asked| asked.submissions >= 10 + count).await;
    let took = started.elapsed();
    let cpu = stand.process().cpu().since(&before);
    line("requests accepted", load.rate());
    line("requests handed to the provider", load::rate(count, took));
    line("receipt p50", millis(load.quantile(0.5)));
    line("receipt p99", millis(load.quantile(0.99)));
    report::cpu("each request, until handed over", &cpu, count);
    line("memory when idle", mebibytes(idle));
    line("memory at most, above idle", mebibytes(stand.process().peak().saturating_sub(idle)));
}
