//! Swaps of a plugin through the admin API, under 200 submissions a second: how long each takes, and what
//! clients see of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gatehouse_harness::{Caller, component};
use serde_json::Value;
use tokio::time::{MissedTickBehavior, interval};

use crate::arguments::Arguments;
use crate::gateway::{BenchGateway, pause, request};
use crate::image_provider::Jobs;
use crate::report::{line, millis};

const CLIENTS: u32 = 4;
/// Between two submissions of one client: 200 a second altogether.
const PACE: Duration = Duration::from_millis(20);
/// Before the first swap and after each, so that what a swap does shows beside what is usual.
const CALM: Duration = Duration::from_secs(3);

/// One submission: when it was sent, and how long its receipt took.
type Sent = (Instant, Duration);

/// Installs builds that differ by a mark alone, one after the other.
pub(crate) async fn measure(arguments: &Arguments) {
    let count = arguments.count(10);
    let gateway = BenchGateway::start(arguments, 1, Jobs::Instant, Duration::from_secs(1)).await;
    let plugin = component("plugins/context-image");
    let over = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            tokio::spawn(submit(gateway.caller.clone(), PACE * number / CLIENTS, Arc::clone(&over)))
        })
        .collect();
    let file = tempfile::NamedTempFile::new().expect("a file");
    let mut swaps = Vec::new();
    pause(CALM).await;
    for number in 0..count {
        // A custom section changes the digest and nothing else.
        let mark = u8::try_from(number % 256).expect("a byte");
        std::fs::write(file.path(), [plugin.as_slice(), &[0, 3, 1, b'b', mark]].concat()).expect("a file");
        let started = Instant::now();
        gateway.harness.command(&["plugin", "install", &file.path().display().to_string()]).await;
        swaps.push((started, started.elapsed()));
        pause(CALM).await;
    }
    over.store(true, Ordering::SeqCst);
    let mut sent = Vec::new();
    for client in clients {
        sent.extend(client.await.expect("every submission was accepted"));
    }
    let during = |(at, _): &Sent| swaps.iter().any(|(from, span)| *at >= *from && *at <= *from + *span);
    let (inside, outside): (Vec<Sent>, Vec<Sent>) = sent.into_iter().partition(during);
    line("swaps", swaps.len());
    let mut spans: Vec<Duration> = swaps.iter().map(|(_, span)| *span).collect();
    spans.sort_unstable();
    line("a swap, from command to answer, median", millis(spans[spans.len() / 2]));
    line("a swap, slowest", millis(spans[spans.len() - 1]));
    for (name, sent) in [("apart from swaps", outside), ("during a swap", inside)] {
        let mut took: Vec<Duration> = sent.into_iter().map(|(_, took)| took).collect();
        took.sort_unstable();
        let at =
            |share: usize| took.get(took.len().saturating_sub(1) * share / 100).copied().unwrap_or_default();
        let figures = [50, 99, 100].map(|share| millis(at(share))).join("  ");
        line(&format!("{} receipts {name}, p50 p99 max", took.len()), figures);
    }
    gateway.harness.expect_sound_ledger().await;
}

async fn submit(caller: Caller, late: Duration, over: Arc<AtomicBool>) -> Vec<Sent> {
    let body: Value = serde_json::from_str(&request()).expect("a literal request");
    pause(late).await;
    let mut pace = interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut sent = Vec::new();
    while !over.load(Ordering::SeqCst) {
        pace.tick().await;
        let started = Instant::now();
        let answer = caller.post("/v1/images/generations", &body).await;
        assert_eq!(answer.status, 200, "{}", answer.json());
        sent.push((started, started.elapsed()));
    }
    sent
}
