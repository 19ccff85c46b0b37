//! One customer against another: requests of usual size, alone and beside a customer whose large requests are all refused. Both
//! come in turns within one run, so that a busy machine weighs on both.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use crate::arguments::Arguments;
use crate::figures::text::{TextSetup, body};
use crate::http1;
use crate::load::Flood;
use crate::report::{line, millis};

/// Keys of the other customer.
const KEYS: usize = 4;
/// Connections that each of them keeps busy.
const CONNECTIONS: usize = 256;
/// Letters in each refused request.
const LETTERS: usize = 200_000;
/// How often the two come in turns.
const ROUNDS: usize = 5;

/// Measures both in turns, and prints the medians of all rounds.
pub(crate) async fn measure(arguments: &Arguments) {
    let count = arguments.count(200);
    let connections = arguments.connections(CONNECTIONS);
    let setup = TextSetup::start(arguments, false).await;
    let mut bearers = vec![setup.gateway.harness.open_account("other", "1000").await.bearer()];
    while bearers.len() < KEYS {
        bearers.push(setup.gateway.harness.make_key("other", &["--unlimited"]).await.bearer());
    }
    let refused: Vec<Bytes> = bearers
        .iter()
        .map(|bearer| http1::post(arguments.client.path(), "gate.test", bearer, &refused_body()))
        .collect();
    let body = body(false);
    setup.through(1, count, &body).await;
    let (mut alone, mut beside, mut answers) = (Vec::new(), Vec::new(), 0);
    for _ in 0..ROUNDS {
        alone.push(setup.through(1, count, &body).await.quantile(0.5));
        let refused = refused.clone();
        let make = Arc::new(move |number: usize| refused[number % KEYS].clone());
        let flood = Flood::start(setup.gateway.harness.public, KEYS * connections, make).await;
        beside.push(setup.through(1, count, &body).await.quantile(0.5));
        answers += flood.stop();
    }
    alone.sort_unstable();
    beside.sort_unstable();
    let (alone, beside) = (alone[ROUNDS / 2], beside[ROUNDS / 2]);
    line("connections of the other customer", KEYS * connections);
    line("requests of theirs that were refused", answers);
    line("answer p50 alone", millis(alone));
    line("answer p50 beside them", millis(beside));
    line("times as long", format!("{:.1}", beside.as_secs_f64() / alone.as_secs_f64()));
    setup.gateway.harness.expect_sound_ledger().await;
}

/// A large request whose mistake comes last.
fn refused_body() -> Vec<u8> {
    let words = "the sea was calm, ".chars().cycle().take(LETTERS).collect::<String>();
    let body = json!({
        "model": "bench",
        "max_tokens": 256,
        "messages": [{ "role": "user", "content": words }],
    });
    let mut text = body.to_string();
    text.truncate(text.len() - 1);
    text.push_str(r#","temperature":"hot"}"#);
    text.into_bytes()
}
