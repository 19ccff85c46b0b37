//! A model with several targets: whatever keeps one from answering, the next one answers as long as the client has nothing of
//! an answer, and the request is billed once, by the price of the one that answered.

mod moments;
mod money;
mod provider;

use gatehouse_harness::{Response, run, until};
use serde_json::{Value, json};

use crate::text::scene::{SURFACES as PATHS, Scene, request_on};
use crate::text::targets::provider::{Scripted, USAGE};

/// Micro-credits of a token read and of one written, by target: the second one is the dearest.
const PRICES: [(i64, i64); 3] = [(2, 5), (100, 200), (7, 11)];

/// What the first two targets do, how many calls it takes until the third one answers, and how many of them may be billed.
/// The first has two accounts.
const FAILURES: [(&str, u64, u64); 13] = [
    // The first 429 of a request may pass: its account would be asked again if nobody else could answer.
    ("429", 4, 0),
    ("500", 4, 0),
    ("503", 4, 0),
    ("529", 4, 0),
    ("401", 4, 0),
    ("402", 4, 0),
    ("error-200", 4, 0),
    ("empty", 4, 0),
    ("foreign", 4, 0),
    ("unreachable", 4, 0),
    // It may work on the call, so its other account is not sent the same.
    ("silent", 3, 2),
    ("silent-after-head", 3, 2),
    ("cut", 3, 2),
];

/// For targets that say nothing. Any other may take its time: a slow machine would make a silence of its answer.
const IMPATIENT: &str = ", first_byte_s = 1, answer_s = 1";

struct Test {
    scene: Scene,
    scripted: Scripted,
}

/// A provider with its accounts, at `address`.
fn provider(name: &str, address: &str, accounts: &[&str], more: &str) -> String {
    let accounts = accounts.iter().map(|account| {
        format!("[providers.{name}.accounts.{account}]\nsecret = {{ file = \"SECRET\" }}\n\n")
    });
    let accounts: String = accounts.collect();
    format!("[providers.{name}]\nbase_url = \"http://{address}\"\nauth = \"bearer\"\n{more}\n\n{accounts}")
}

fn target(provider: &str, protocol: &str, upstream: &str, (input, output): (i64, i64), more: &str) -> String {
    format!(
        "{{ provider = \"{provider}\", protocol = \"{protocol}\", upstream = \"{upstream}\", prices = {{ input = \"{input}\", \
         output = \"{output}\" }}{more} }}"
    )
}

fn model(id: &str, targets: &[String]) -> String {
    format!(
        "[models.{id}]\nprices = {{ input = \"1\", output = \"1\" }}\ntargets = [{}]\n\n",
        targets.join(", ")
    )
}

impl Test {
    /// With a model for each of the scripts, whose first two targets follow it.
    async fn start(scripts: &[&str], more: impl Fn(&str) -> String) -> Self {
        let scripted = Scripted::default();
        let address = scripted.start().await.to_string();
        let mut config = provider("good", &address, &["main"], "") + &more(&address);
        for script in scripts {
            // Nobody listens there.
            let at = if *script == "unreachable" { "127.0.0.1:1" } else { &address };
            let patience = if script.starts_with("silent") { IMPATIENT } else { "" };
            config += &provider(&format!("one-{script}"), at, &["a", "b"], "");
            config += &provider(&format!("two-{script}"), at, &["main"], "");
            config += &model(
                &format!("m-{script}"),
                &[
                    target(&format!("one-{script}"), "messages", script, PRICES[0], patience),
                    target(&format!("two-{script}"), "chat", script, PRICES[1], patience),
                    target("good", "messages", "good", PRICES[2], ""),
                ],
            );
        }
        Self { scene: Scene::start(&config).await, scripted }
    }

    async fn ask(&self, path: &str, model: &str, text: &str, streaming: bool) -> Response {
        self.scene.caller.post(path, &request_on(path, model, text, streaming)).await
    }

    /// The line of the log of that answer.
    async fn line(&self, answer: &Response) -> Value {
        let id = answer.header("x-request-id").to_owned();
        let said = || {
            let log = self.scene.gateway.log_text();
            log.lines().find(|line| line.contains(&id) && line.contains("charged_micro")).map(str::to_owned)
        };
        until("the request is logged", async || said().is_some()).await;
        let line = said().expect("a line");
        serde_json::from_str(&line).unwrap_or(Value::String(line))
    }
}

fn cost((input, output): (i64, i64)) -> i64 {
    USAGE.0 * input + USAGE.1 * output
}

/// Without it a client reads the failure of one provider although another would have served it, or is billed for two.
#[test]
fn whatever_keeps_a_target_from_answering_the_next_one_answers() {
    run(async {
        let test = Test::start(&FAILURES.map(|(script, ..)| script), |_| String::new()).await;
        let mut given_up = 0;
        for (script, calls, may_be_billed) in FAILURES {
            for (path, streaming) in PATHS.into_iter().flat_map(|path| [(path, false), (path, true)]) {
                let before = test.scene.spent().await;
                let answer = test.ask(path, &format!("m-{script}"), "hi", streaming).await;
                let of = format!("{script} {path} streaming {streaming}: {}", answer.text());
                assert_eq!(answer.status, 200, "{of}");
                assert!(answer.text().contains("served"), "{of}");
                assert_eq!(answer.header("x-gateway-target"), "good/good", "{of}");
                // The breaker of an account that has failed often is open: it is not asked any more.
                let attempts: u64 = answer.header("x-gateway-attempts").parse().expect("a count");
                assert!((1..=calls).contains(&attempts), "{attempts} {of}");
                assert_eq!(test.scene.spent().await - before, cost(PRICES[2]), "{of}");
                let seen = test.scripted.take_seen();
                if script != "unreachable" {
                    assert_eq!(seen.len() as u64, attempts, "{seen:?} {of}");
                }
                assert_eq!(seen.last().map(|(model, _)| model.as_str()), Some("good"), "{of}");
                if (path, streaming) == (PATHS[0], false) {
                    assert_eq!(attempts, calls, "each was asked: {of}");
                    let line = test.line(&answer).await.to_string();
                    assert!(line.contains("good/good") && line.contains("attempts"), "{line}");
                }
                if may_be_billed > 0 {
                    given_up += attempts - 1;
                }
                let counted = test.scene.counter("gatehouse_text_given_up_calls_total").await;
                assert_eq!(counted, given_up, "{of}");
            }
        }
        let audit = test.scene.gateway.audit(&["--limit", "1000"]).await;
        let lines = audit.iter().filter(|line| line.to_string().contains("operator's cost")).count();
        assert_eq!(lines as u64, given_up, "each of them is on record");
        test.scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it a request that no provider can serve is sent to all of them.
#[test]
fn a_fault_of_the_client_is_told_by_the_first_target() {
    run(async {
        let scripts = ["400", "413", "422", "overflow", "moderation"];
        let test = Test::start(&scripts, |_| String::new()).await;
        for script in scripts {
            for (path, streaming) in PATHS.into_iter().flat_map(|path| [(path, false), (path, true)]) {
                let answer = test.ask(path, &format!("m-{script}"), "hi", streaming).await;
                let of = format!("{script} {path} streaming {streaming}: {}", answer.text());
                assert!((400..500).contains(&answer.status), "{of}");
                assert_eq!(answer.header("x-gateway-attempts"), "1", "{of}");
                assert_eq!(answer.header("x-gateway-target"), "", "{of}");
                assert_eq!(test.scripted.take_seen().len(), 1, "{of}");
            }
        }
        assert_eq!(test.scene.spent().await, 0);
    });
}

/// Without it a request waits for a provider that is full, or is sent to one that an operator drains.
#[test]
fn a_target_without_a_permit_is_passed_over() {
    run(async {
        let test = Test::start(&[], |address| {
            let narrow = |name: &str| provider(name, address, &["main"], "concurrency = 1");
            let two = |name: &str| {
                [
                    target(name, "chat", "fine", PRICES[0], ""),
                    target("good", "messages", "good", PRICES[2], ""),
                ]
            };
            narrow("full")
                + &narrow("drained")
                + &model("occupies", &[target("full", "chat", "held", PRICES[0], "")])
                + &model("m-full", &two("full"))
                + &model("m-drained", &two("drained"))
        })
        .await;
        let occupies = test.ask(PATHS[0], "occupies", "hi", false);
        let asks = async {
            until("the account is full", async || !test.scripted.take_seen().is_empty()).await;
            test.scene.gateway.command(&["provider", "drain", "drained", "main"]).await;
            for model in ["m-full", "m-drained"] {
                for streaming in [false, true] {
                    let answer = test.ask(PATHS[0], model, "hi", streaming).await;
                    let of = format!("{model}: {}", answer.text());
                    assert_eq!(
                        (answer.status, answer.header("x-gateway-target")),
                        (200, "good/good"),
                        "{of}"
                    );
                    assert_eq!(answer.header("x-gateway-attempts"), "1", "{of}");
                }
            }
            test.scripted.go.notify_one();
        };
        let (occupied, ()) = tokio::join!(occupies, asks);
        assert_eq!(
            (occupied.status, occupied.header("x-gateway-target")),
            (200, ""),
            "a list of one is not told"
        );
    });
}

/// Without it the requests of a conversation alternate between providers, and none of them finds its prompt in a cache.
#[test]
fn a_conversation_stays_at_one_of_equal_targets() {
    run(async {
        let test = Test::start(&[], |address| {
            let equals = ["left", "right"];
            let providers: String = equals.map(|name| provider(name, address, &["main"], "")).concat();
            let targets = equals.map(|name| target(name, "chat", "good", PRICES[0], ", weight = 1"));
            providers + &model("m-equal", &targets)
        })
        .await;
        let mut found = std::collections::BTreeSet::new();
        for number in 0..12 {
            let user = |text: String| json!({"role": "user", "content": text});
            let mut messages = vec![user(format!("conversation {number}"))];
            let mut own = std::collections::BTreeSet::new();
            for round in 0..3 {
                let body = json!({"model": "m-equal", "max_tokens": 50, "messages": messages});
                let answer = test.scene.caller.post(PATHS[0], &body).await;
                assert_eq!(answer.status, 200, "{}", answer.text());
                own.insert(answer.header("x-gateway-target").to_owned());
                messages.push(json!({"role": "assistant", "content": "served"}));
                messages.push(user(format!("round {round}")));
            }
            assert_eq!(own.len(), 1, "conversation {number}: {own:?}");
            found.extend(own);
        }
        assert_eq!(found.len(), 2, "both serve: {found:?}");
    });
}

#[test]
fn vectors_come_from_the_next_target_too() {
    run(async {
        let test = Test::start(&[], |address| {
            let targets = [
                target("broken", "chat", "500", PRICES[1], ""),
                target("good", "chat", "good", PRICES[2], ""),
            ];
            let model = model("vectors", &targets).replace("\nprices", "\nkind = \"embedding\"\nprices");
            provider("broken", address, &["main"], "") + &model
        })
        .await;
        let body = json!({"model": "vectors", "input": "hi", "encoding_format": "float"});
        let answer = test.scene.caller.post("/v1/embeddings", &body).await;
        let found = (answer.status, answer.header("x-gateway-target"), answer.header("x-gateway-attempts"));
        assert_eq!(found, (200, "good/good", "2"), "{}", answer.text());
        assert_eq!(test.scene.spent().await, USAGE.0 * PRICES[2].0);
    });
}
