//! Webhooks that customers make with their own keys, through the public listener of the real binary: whose they are, where they
//! may lead, what is shown once, and what an operator sees of them.

use gatehouse_harness::{Caller, Response, run, until};
use serde_json::{Value, json};

use super::{Answer, Receiver, result, start, submit, webhook};

const JSON: (&str, &str) = ("content-type", "application/json");

async fn make(caller: &Caller, body: &Value, token: &str) -> Response {
    caller.post_with(&[("idempotency-key", token)], "/v1/webhooks", body).await
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("expected text, got {value}")).to_owned()
}

#[test]
fn a_customer_has_webhooks_of_its_own_which_nobody_else_touches() {
    run(async {
        let (receiver, address) = Receiver::start(|_, _| Answer::Status(204)).await;
        let (gateway, caller) = start(address).await;
        let rival = gateway.open_account("rival", "10").await;
        let body = json!({"url": format!("http://{address}/own?token=s3cret"), "events": ["task.completed"]});
        let made = make(&caller, &body, "one").await;
        assert_eq!(made.status, 200, "{}", made.text());
        let (id, secret) = (text(&made.json()["data"]["id"]), text(&made.json()["data"]["secret"]));
        let again = make(&caller, &body, "one").await;
        assert_eq!((again.header("idempotency-replayed"), &again.json()["data"]["id"]), ("true", &json!(id)));
        assert_eq!(again.json()["data"].get("secret"), None, "it is shown once");
        assert_eq!(make(&caller, &json!({"url": "https://example.com/"}), "one").await.status, 422);

        // Another customer finds nothing, whatever it tries; nor does anyone an operator's.
        let (operators, _) = webhook(&gateway, &format!("http://{address}/operators")).await;
        for (who, found) in [(&rival, &id), (&caller, &operators)] {
            let path = format!("/v1/webhooks/{found}");
            for (method, path) in [
                ("GET", path.clone()),
                ("POST", path.clone()),
                ("DELETE", path.clone()),
                ("POST", format!("{path}/rotate")),
                ("POST", format!("{path}/test")),
                ("GET", format!("{path}/deliveries")),
            ] {
                let answer = who.send(method, &path, &[JSON], "{\"enabled\": false}").await;
                assert_eq!(answer.status, 404, "{method} {path}: {}", answer.text());
            }
        }
        let listed = caller.get("/v1/webhooks").await.json();
        assert_eq!(
            (listed["data"].as_array().map(Vec::len), &listed["data"][0]["id"]),
            (Some(1), &json!(id))
        );
        assert_eq!(rival.get("/v1/webhooks").await.json()["data"], json!([]));

        // It hears of the customer's tasks, signed, and shows what was sent.
        let task = submit(&caller, "a kite").await;
        caller.end_of(&task).await;
        until("the event came", async || receiver.all().iter().any(|arrival| arrival.path == "/own")).await;
        let verifier = standardwebhooks::Webhook::new(&secret).expect("a secret");
        let own = receiver.all().into_iter().find(|arrival| arrival.path == "/own").expect("it came");
        verifier.verify(&own.body, &own.headers).expect("signed");
        let path = format!("/v1/webhooks/{id}");
        let deliveries = async || caller.get(&format!("{path}/deliveries")).await.json()["data"].take();
        until("it is delivered", async || deliveries().await[0]["status"] == "delivered").await;
        let delivery = deliveries().await[0].take();
        assert_eq!((&delivery["task"], &delivery["event"]), (&json!(task), &json!("task.completed")));
        assert_eq!(delivery["attempts"][0]["status"], 204);

        // A new secret signs, and so does the one before.
        let rotated = caller.send("POST", &format!("{path}/rotate"), &[], "").await.json();
        let newer = standardwebhooks::Webhook::new(&text(&rotated["data"]["secret"])).expect("a secret");
        let tried = caller.send("POST", &format!("{path}/test"), &[], "").await.json();
        let event = text(&tried["data"]["id"]);
        until("the test came", async || receiver.times(&event) == 1).await;
        let test = receiver.all().into_iter().find(|arrival| arrival.id == event).expect("it came");
        for verifier in [&verifier, &newer] {
            verifier.verify(&test.body, &test.headers).expect("signed by both");
        }

        // An operator sees whose it is, and what an operator stops at an address stays stopped: of all that is off there.
        let other = json!({"url": format!("http://{address}/own?token=other"), "enabled": false});
        let other = make(&caller, &other, "other").await;
        assert_eq!(other.status, 200, "{}", other.text());
        let other = format!("/v1/webhooks/{}", text(&other.json()["data"]["id"]));
        let shown = result(&gateway, &["show", &id]).await;
        assert_eq!(shown["webhook"]["made_by"], caller.id());
        result(&gateway, &["disable", &id]).await;
        let enable = caller.post(&path, &json!({"enabled": true})).await;
        assert_eq!(enable.refusal("param"), (403, json!("enabled")));
        assert_eq!(caller.send("DELETE", &path, &[], "").await.status, 403, "nor is it removed");
        let away = caller.post(&path, &json!({"url": format!("http://{address}/away")})).await;
        assert_eq!(away.refusal("param"), (403, json!("enabled")), "nor moved, which would free its address");
        let enable = caller.post(&other, &json!({"enabled": true})).await;
        assert_eq!(enable.refusal("param"), (403, json!("url")), "{}", enable.text());
        let words = caller.post(&other, &json!({"description": "off"})).await;
        assert_eq!(words.status, 200, "{}", words.text());
        let callback = format!("http://{address}/own?token=callback");
        for dry_run in [true, false] {
            let body = json!({
                "model": "ctx-pro", "prompt": "a kite", "callback_url": callback, "dry_run": dry_run,
            });
            let refused = caller.post("/v1/images/generations", &body).await;
            assert_eq!(refused.status, 403, "{}", refused.text());
            let message = refused.message();
            assert!(message.starts_with("callback_url: an operator disabled"), "{message}");
            assert!(message.contains("/own?...") && !message.contains("token"), "{message}");
        }
        let twin = json!({"url": format!("http://{address}/own?token=another")});
        let again = make(&caller, &twin, "twin").await;
        assert_eq!(again.refusal("param"), (403, json!("url")), "{}", again.text());
        let elsewhere =
            make(&caller, &json!({"url": format!("http://{address}/elsewhere")}), "elsewhere").await;
        assert_eq!(elsewhere.status, 200, "{}", elsewhere.text());
        let moved = format!("/v1/webhooks/{}", text(&elsewhere.json()["data"]["id"]));
        assert_eq!(caller.post(&moved, &twin).await.status, 403, "nor moved there");
        assert_eq!(caller.send("DELETE", &moved, &[], "").await.status, 200);
        result(&gateway, &["enable", &id]).await;
        let off = caller.post(&path, &json!({"enabled": false})).await.json();
        assert_eq!(off["data"]["disabled_reason"], "its owner disabled it");
        for path in [&path, &other] {
            assert_eq!(caller.post(path, &json!({"enabled": true})).await.json()["data"]["enabled"], true);
        }
        result(&gateway, &["remove", &id]).await;
        assert_eq!(caller.get(&path).await.status, 404);

        // Each change has its line with the key, and neither a secret nor the query of the address is on record.
        let lines = Value::from(gateway.audit(&["--requests"]).await).to_string();
        for operation in ["createOwnWebhook", "rotateOwnWebhook", "testOwnWebhook", "editOwnWebhook"] {
            assert!(lines.contains(operation), "{operation}: {lines}");
        }
        assert!(lines.contains(&format!("key {}", caller.id())) && lines.contains("/own?..."), "{lines}");
        for hidden in ["s3cret", &secret[6..]] {
            assert!(!lines.contains(hidden) && !gateway.log_text().contains(hidden), "{hidden}");
        }
    });
}

/// Without it a key would have the gateway post to its own network.
#[test]
fn addresses_that_are_not_public_are_refused_for_webhooks_and_callbacks_alike() {
    run(async {
        let (_receiver, address) = Receiver::start(|_, _| Answer::Status(204)).await;
        let (gateway, caller) = start(address).await;
        for url in [
            "http://127.0.0.1:1/",
            "https://[::1]/",
            "https://localhost/",
            "https://10.0.0.1/",
            "https://169.254.169.254/latest",
            "https://[fd00:ec2::254]/",
            "https://user:word@example.com/",
            "ftp://example.com/",
            "https://example.com:9200/",
            "example.com/hook",
        ] {
            let answer = caller.post("/v1/webhooks", &json!({ "url": url })).await;
            assert_eq!(answer.refusal("param"), (400, json!("url")), "{url}");
            for (path, format, body) in [
                ("/v1/images/generations", "wrapped", json!({"model": "ctx-pro", "prompt": "a kite"})),
                ("/v1/images/generations", "bare", json!({"model": "ctx-pro", "prompt": "a kite"})),
                (
                    "/v1/images/edits",
                    "bare",
                    json!({"model": "ctx-pro", "prompt": "a kite", "image": "data:,"}),
                ),
                ("/v1/videos/generations", "wrapped", json!({"model": "motion-2.6", "prompt": "a kite"})),
                ("/v1/videos", "bare", json!({"model": "motion-2.6", "prompt": "a kite"})),
                ("/v1/journey/generations", "wrapped", json!({"prompt": "a kite"})),
            ] {
                let mut body = body;
                body["callback_url"] = json!(url);
                let answer = caller.post_with(&[("x-response-format", format)], path, &body).await;
                let refusal = (400, json!("callback_url"));
                assert_eq!(answer.refusal("param"), refusal, "{path} {url}: {}", answer.text());
            }
        }
        let tasks = caller.get("/v1/tasks").await.json();
        assert_eq!(tasks["data"], json!([]), "nothing was made");

        // As many as a customer may have, and no more.
        for number in 0..10 {
            let url = format!("http://{address}/{number}");
            assert_eq!(caller.post("/v1/webhooks", &json!({ "url": url })).await.status, 200);
        }
        let eleventh = caller.post("/v1/webhooks", &json!({"url": format!("http://{address}/10")})).await;
        assert_eq!(eleventh.status, 409, "{}", eleventh.text());
        let mut last = eleventh;
        for _ in 0..30 {
            last = caller.post("/v1/webhooks", &json!({"url": format!("http://{address}/7")})).await;
        }
        assert_eq!((last.status, last.header("retry-after").is_empty()), (429, false), "{}", last.text());
        gateway.expect_sound_ledger().await;
    });
}

/// Without it an account runs dry, and its customer learns that from refused requests.
#[test]
fn a_customer_hears_that_its_balance_is_low() {
    run(async {
        let (receiver, address) = Receiver::start(|_, _| Answer::Status(204)).await;
        let (gateway, caller) = start(address).await;
        let url = format!("http://{address}/money");
        let made = caller.post("/v1/webhooks", &json!({"url": url, "events": ["balance.low"]})).await;
        assert_eq!(made.status, 200, "{}", made.text());
        let edited = gateway.json(&["account", "edit", "acme", "--low-balance", "1000"]).await;
        assert_eq!(edited["low_balance_micro"], 1_000_000_000, "{edited}");
        for prompt in ["one", "two"] {
            caller.end_of(&submit(&caller, prompt).await).await;
        }
        until("it was told", async || !receiver.all().is_empty()).await;
        let event: Value = serde_json::from_slice(&receiver.all()[0].body).expect("JSON");
        assert_eq!((&event["type"], &event["data"]["account"]), (&json!("balance.low"), &json!("acme")));
        assert_eq!((&event["data"]["threshold"], receiver.all().len()), (&json!(1000), 1));
    });
}
