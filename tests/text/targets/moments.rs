//! Targets in the middle of something: a configuration that is replaced while one works, breakers that are open, a provider
//! that says only that it is there, and one that speaks a dialect.

use gatehouse_harness::{run, until};
use serde_json::{Value, json};

use super::provider::USAGE;
use super::{PATHS, PRICES, Test, cost, model, provider, target};

/// Failures in a row that open a breaker.
const THRESHOLD: usize = 5;

/// Without it a request that is under way when its model changes is told of a target that it never had, or pays the new price.
#[test]
fn a_request_keeps_the_targets_and_prices_that_it_began_with() {
    run(async {
        let test = Test::start(&[], |address| {
            let last = target("good", "messages", "good", PRICES[2], "");
            provider("slow", address, &["main"], "")
                + &model("m-moving", &[target("slow", "chat", "held-503", PRICES[0], ""), last])
        })
        .await;
        for (number, streaming) in [false, true].into_iter().enumerate() {
            let before = test.scene.spent().await;
            let asks = test.ask(PATHS[0], "m-moving", "hi", streaming);
            let reloads = async {
                until("the first target has the call", async || !test.scripted.take_seen().is_empty()).await;
                let config = test.scene.gateway.config();
                let dearer =
                    config.replace("input = \"7\", output = \"11\"", "input = \"70\", output = \"110\"");
                let gone = dearer.replace("upstream = \"good\"", "upstream = \"400\"");
                assert_ne!(gone, config);
                test.scene.gateway.reload(&gone).await;
                test.scripted.go.notify_one();
                config
            };
            let (answer, config) = tokio::join!(asks, reloads);
            let of = format!("streaming {streaming}: {}", answer.text());
            assert_eq!((answer.status, answer.header("x-gateway-target")), (200, "good/good"), "{of}");
            assert_eq!(test.scene.spent().await - before, cost(PRICES[2]), "{of}");
            test.scene.gateway.reload(&config).await;
            assert_eq!(test.scripted.take_seen().len(), 1, "round {number}: the second target alone");
        }
    });
}

/// Without it every request waits for a provider that is known to be down, or a request that nobody can serve says not when.
#[test]
fn a_target_with_an_open_breaker_is_not_asked() {
    run(async {
        let test = Test::start(&[], |address| {
            let down = |name: &str| target(name, "chat", "500", PRICES[0], "");
            let good = target("good", "messages", "good", PRICES[2], "");
            provider("down", address, &["main"], "")
                + &provider("down-too", address, &["main"], "")
                + &model("m-down", &[down("down"), good])
                + &model("m-all-down", &[down("down"), down("down-too")])
        })
        .await;
        let ask = async |model: &str, streaming| test.ask(PATHS[0], model, "hi", streaming).await;
        for _ in 0..THRESHOLD {
            ask("m-down", false).await;
            ask("m-all-down", true).await;
        }
        let gauge = "gatehouse_upstream_breaker_open";
        assert!(test.scene.counter(gauge).await >= 1, "a breaker is open");
        test.scripted.take_seen();
        for streaming in [false, true] {
            let answer = ask("m-down", streaming).await;
            assert_eq!((answer.status, answer.header("x-gateway-target")), (200, "good/good"));
            let calls = test.scripted.take_seen().len().to_string();
            assert_eq!(answer.header("x-gateway-attempts"), calls, "each attempt is a call");
            let refused = ask("m-all-down", streaming).await;
            assert!(matches!(refused.status, 500..=504), "{}: {}", refused.status, refused.text());
            test.scripted.take_seen();
        }
    });
}

/// Without it a provider that sends pings and comments, and never a word, keeps a request that another would have answered.
#[test]
fn a_target_that_says_only_that_it_is_there_is_silent() {
    run(async {
        let test = Test::start(&[], |address| {
            let pings = |id: &str, protocol: &str| {
                let first = target("pings", protocol, "pings", PRICES[0], ", first_byte_s = 3");
                model(id, &[first, target("good", "messages", "good", PRICES[2], "")])
            };
            "[text]\nhead_s = 1\n\n".to_owned()
                + &provider("pings", address, &["main"], "")
                + &pings("m-messages", "messages")
                + &pings("m-chat", "chat")
        })
        .await;
        for (model, path) in [("m-messages", PATHS[1]), ("m-chat", PATHS[0]), ("m-chat", PATHS[1])] {
            let body = json!({"model": model, "max_tokens": 50, "stream": true,
                "messages": [{"role": "user", "content": "hi"}]});
            let before = test.scene.spent().await;
            let mut answer = test.scene.send(wire(path), &body).await;
            // The client has its head, and no more.
            answer.until("200 OK").await;
            test.scripted.go.notify_one();
            let answer = answer.end().await;
            assert!(answer.body.contains("served"), "{model} {path}: {answer:?}");
            assert_eq!(test.scene.spent().await - before, cost(PRICES[2]), "{model} {path}");
        }
    });
}

fn wire(path: &str) -> crate::text::scene::Wire {
    use crate::text::scene::Wire;
    if path == PATHS[0] { Wire::Chat } else { Wire::Messages }
}

/// Without it a provider that cannot answer whole is asked, and paid, for answers that nobody gets.
#[test]
fn a_stream_that_was_not_asked_for_is_an_answer() {
    run(async {
        let test = Test::start(&[], |address| {
            let first = target("streams", "chat", "streams-always", PRICES[0], "");
            provider("streams", address, &["main"], "")
                + &model("m-streams", &[first, target("good", "messages", "good", PRICES[2], "")])
        })
        .await;
        for streaming in [false, true] {
            let before = test.scene.spent().await;
            let answer = test.ask(PATHS[0], "m-streams", "hi", streaming).await;
            assert_eq!(
                (answer.status, answer.header("x-gateway-target")),
                (200, "streams/streams-always"),
                "{}",
                answer.text()
            );
            assert_eq!(test.scene.spent().await - before, cost(PRICES[0]));
        }
        assert_eq!(test.scene.counter("gatehouse_text_given_up_calls_total").await, 0);
    });
}

/// Without it a dialect among the targets is never asked, or the one after it never is.
#[test]
fn a_target_that_speaks_a_dialect_is_one_like_the_others() {
    run(async {
        let test = Test::start(&[], |address| {
            let last = target("good", "messages", "good", PRICES[2], "");
            let google = |upstream: &str| target("google", "generatecontent", upstream, PRICES[0], "");
            let down = target("down", "chat", "503", PRICES[1], "");
            provider("google", address, &["main"], "")
                + &provider("down", address, &["main"], "")
                + &model("m-dialect-fails", &[google("503"), last])
                + &model("m-dialect-answers", &[down, google("good")])
        })
        .await;
        for (model, answered, price) in
            [("m-dialect-fails", "good/good", PRICES[2]), ("m-dialect-answers", "google/good", PRICES[0])]
        {
            for (path, streaming) in PATHS.into_iter().flat_map(|path| [(path, false), (path, true)]) {
                let before = test.scene.spent().await;
                let answer = test.ask(path, model, "hi", streaming).await;
                let of = format!("{model} {path} streaming {streaming}: {}", answer.text());
                assert_eq!((answer.status, answer.header("x-gateway-target")), (200, answered), "{of}");
                assert!(answer.text().contains("served"), "{of}");
                assert_eq!(test.scene.spent().await - before, cost(price), "{of}");
            }
        }
        let seen: Value = json!(test.scripted.take_seen());
        assert!(seen.to_string().contains("generateContent") && USAGE.0 > 0, "{seen}");
    });
}
