//! What is held for a request that several targets may answer: the dearest of them, each by its own cap on output.

use gatehouse_harness::{run, with};
use serde_json::{Value, json};

use super::{PATHS, PRICES, Test, cost, model, provider, target};

/// More than a Messages provider is asked for where a client says nothing; a chat provider is told no cap at all.
const MAX_OUTPUT: u32 = 50_000;
const RULES: &str = "rules = { max_output = 50000 }\ntargets";

/// Models over two targets: their id, the targets, and how the second one differs.
fn models(address: &str) -> String {
    let [cheap, dear] = [(1, 1), (9, 9)];
    let good = |protocol: &str, prices| target("good", protocol, "good", prices, "");
    let other = |provider: &str, protocol: &str, prices| target(provider, protocol, "good", prices, "");
    let all = [
        ("m-cap", [other("one", "messages", cheap), good("chat", cheap)]),
        ("m-cap-last", [good("chat", cheap), other("one", "messages", cheap)]),
        ("m-dear", [other("one", "messages", cheap), good("chat", dear)]),
        ("m-no-account", [good("messages", cheap), other("bare", "chat", dear)]),
        ("m-cannot", [good("chat", cheap), other("one", "messages", dear)]),
    ];
    let models: String =
        all.iter().map(|(id, targets)| model(id, targets).replace("targets", RULES)).collect();
    provider("one", address, &["main"], "") + &provider("bare", address, &[], "") + &models
}

/// The cap and the price of a token that the estimate of a request counts, and its sum.
async fn estimate(test: &Test, body: &Value) -> (f64, f64, f64) {
    let mut asks = body.clone();
    asks["dry_run"] = json!(true);
    let answer = test.scene.caller.post(PATHS[0], &asks).await;
    assert_eq!(answer.status, 200, "{body}: {}", answer.text());
    let answer = answer.json();
    let answer = answer.get("data").unwrap_or(&answer);
    let output = &answer["charges"][1];
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{answer}"));
    ((number(&output["quantity"]) * 1e6).round(), number(&output["unit_price"]), number(&answer["sum"]))
}

/// An amount in a line of the log.
fn amount(line: &Value, name: &str) -> Option<i64> {
    let text = line.as_str()?;
    let amount = text.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?;
    amount.trim_end().parse().ok()
}

/// Without it a target that may write more than the first one is charged above the hold, which its customer may not have, or
/// a customer needs the money for a target that is never asked.
#[test]
fn the_hold_is_the_dearest_of_what_each_usable_target_may_cost_at_its_own_cap() {
    run(async {
        let test = Test::start(&[], models).await;
        let body = |model: &str, more: Value| {
            with(json!({"model": model, "messages": [{"role": "user", "content": "hi"}]}), more)
        };
        let all = f64::from(MAX_OUTPUT);
        for (body, cap, price) in [
            (body("m-cap", json!({})), all, 1.0),
            (body("m-cap-last", json!({})), all, 1.0),
            (body("m-cap", json!({"max_tokens": 50})), 50.0, 1.0),
            (body("m-dear", json!({"max_tokens": 50})), 50.0, 9.0),
            (body("m-dear", json!({})), all, 9.0),
            (body("m-no-account", json!({"max_tokens": 50})), 50.0, 1.0),
            // Two answers at once: a Messages provider gives one.
            (body("m-cannot", json!({"max_tokens": 50, "n": 2})), 100.0, 1.0),
            (body("m-cannot", json!({"max_tokens": 50})), 50.0, 9.0),
        ] {
            let (found_cap, found_price, sum) = estimate(&test, &body).await;
            assert_eq!((found_cap, found_price), (cap, price), "{body}");
            let answer = test.scene.caller.post(PATHS[0], &body).await;
            assert_eq!(answer.status, 200, "{body}: {}", answer.text());
            let line = test.line(&answer).await;
            let held = amount(&line, "held_micro").map(|micro| micro.to_string());
            assert_eq!(held, Some(format!("{:.0}", sum * 1e6)), "held as estimated: {body}: {line}");
        }
        test.scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it an answer is paid by the price of another target, or twice.
#[test]
fn the_target_that_answered_is_billed_once_within_a_hold_of_the_dearest() {
    run(async {
        let test = Test::start(&["503"], |_| String::new()).await;
        for streaming in [false, true] {
            let before = test.scene.spent().await;
            let answer = test.ask(PATHS[0], "m-503", "hi", streaming).await;
            assert_eq!((answer.status, answer.header("x-gateway-target")), (200, "good/good"));
            let line = test.line(&answer).await;
            assert_eq!(amount(&line, "charged_micro"), Some(cost(PRICES[2])), "{line}");
            let held = amount(&line, "held_micro");
            assert!(held > Some(500 * PRICES[1].1), "five hundred tokens at the dearest: {line}");
            assert_eq!(test.scene.spent().await - before, cost(PRICES[2]));
        }
        test.scene.gateway.expect_sound_ledger().await;
    });
}
