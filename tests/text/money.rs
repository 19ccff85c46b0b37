//! What a text costs, whatever its provider counts: in any place, above the hold, and more than its customer has. The tokens it
//! is billed for are those that usage shows, whichever protocol it speaks.

use gatehouse_harness::{Caller, Provider, reply, run, with};
use serde_json::{Value, json};

use crate::text::scene::{CROSSINGS, Receiving, Scene, Wire, request};

/// Micro-credits of a token of each kind, as the models of a scene have them.
const INPUT: i64 = 2;
const OUTPUT: i64 = 5;

/// A provider of both protocols that counts what a request's text tells it: members of its answer, as JSON.
async fn counting_provider() -> Provider {
    Provider::start(|received| {
        let body: Value = serde_json::from_slice(&received.body).expect("JSON");
        let content = &body["messages"][0]["content"];
        let told = content.as_str().or_else(|| content[0]["text"].as_str()).expect("a text");
        let mut answer = if received.path() == "/v1/messages" {
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "hi"}]})
        } else {
            let message = json!({"role": "assistant", "content": "hi"});
            json!({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        };
        let told: Value = serde_json::from_str(told).expect("members");
        for (name, value) in told.as_object().expect("an object") {
            match name.as_str() {
                "in_choice" => answer["choices"][0]["usage"] = value.clone(),
                name => answer[name] = value.clone(),
            }
        }
        reply(200, &[("content-type", "application/json")], answer.to_string())
    })
    .await
}

async fn scene(provider: &Provider) -> Scene {
    let model = |id: &str, protocol: &str| {
        format!(
            "[models.{id}]\nprovider = \"counting\"\nprotocol = \"{protocol}\"\nprices = {{ input = \"2\", cached = \"1\", \
             cache_write = \"3\", output = \"5\" }}\n\n"
        )
    };
    let url = provider.url();
    let more = format!(
        "[providers.counting]\nbase_url = \"{url}\"\nauth = \"bearer\"\n\n[providers.counting.accounts.main]\n\
         secret = {{ file = \"SECRET\" }}\n\n{}{}",
        model("counting-chat", "chat"),
        model("counting-messages", "messages")
    );
    Scene::start(&more).await
}

fn asked(model: &str, told: &Value) -> Value {
    json!({"model": model, "max_tokens": 100, "messages": [{"role": "user", "content": told.to_string()}]})
}

async fn ended(receiving: Receiving) -> Value {
    let answer = receiving.end().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    serde_json::from_str(&answer.body).expect("JSON")
}

/// Without it a provider's own spelling of its counts, or a count above the hold, is paid by the operator.
#[test]
fn a_text_costs_what_its_provider_counts() {
    run(async {
        let provider = counting_provider().await;
        let scene = scene(&provider).await;
        let chat = json!({"prompt_tokens": 1000, "completion_tokens": 50});
        let cached = json!({"prompt_tokens": 10, "completion_tokens": 50, "cached_tokens": 10_000});
        let long = json!({"prompt_tokens": 300_000, "completion_tokens": 50});
        let hour = json!({"input_tokens": 10, "output_tokens": 50, "cache_creation_input_tokens": 1000,
            "cache_creation": {"ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 600}});
        let output = 50 * OUTPUT;
        for (model, told, cost) in [
            ("counting-chat", json!({"usage": chat}), 1000 * INPUT + output),
            ("counting-chat", json!({"in_choice": chat}), 1000 * INPUT + output),
            ("counting-chat", json!({"x_groq": {"usage": chat}}), 1000 * INPUT + output),
            ("counting-chat", json!({"usage": cached}), 10 * INPUT + 10_000 + output),
            // The hold was for a few hundred tokens.
            ("counting-chat", json!({"usage": long}), 300_000 * INPUT + output),
            // Twice the input for the hour, three for the minutes.
            ("counting-messages", json!({"usage": hour}), 10 * INPUT + 400 * 3 + 600 * 2 * INPUT + output),
        ] {
            for client in [Wire::Chat, Wire::Messages] {
                let before = scene.spent().await;
                ended(scene.send(client, &asked(model, &told)).await).await;
                assert_eq!(scene.spent().await - before, cost, "{client:?}: {told}");
            }
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it a cost above the hold is the operator's although the customer has the money, or nobody hears of it.
#[test]
fn what_a_customer_cannot_pay_is_on_record() {
    run(async {
        let provider = counting_provider().await;
        let scene = scene(&provider).await;
        let poor: Caller = scene.gateway.open_account("poor", "0.01").await;
        let told = json!({"usage": {"prompt_tokens": 300_000, "completion_tokens": 50}});
        let request = asked("counting-chat", &told);
        ended(scene.send_as(&poor, Wire::Chat, &request).await).await;
        let account = scene.gateway.account_without_holds("poor").await;
        assert_eq!((&account["available"], &account["spent"]), (&json!(0), &json!(10_000)), "{account}");
        let unpaid = 300_000 * INPUT + 50 * OUTPUT - 10_000;
        assert_eq!(scene.counter("gatehouse_unpaid_micro_credits_total").await, unpaid.unsigned_abs());
        let lines = scene.gateway.audit(&[]).await;
        let of_poor =
            |line: &&Value| line["text"].as_str().is_some_and(|text| text.contains("customer poor"));
        let found: Vec<&Value> = lines.iter().filter(of_poor).collect();
        let is_right =
            |line: &Value| line["text"].as_str().is_some_and(|text| text.contains("the operator's cost"));
        assert!(found.iter().any(|line| is_right(line)), "{lines:?}");
        let refused = scene.send_as(&poor, Wire::Chat, &request).await.end().await;
        assert_eq!(refused.status, 402, "{refused:?}");
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it what a client may ask of a provider beside tokens (a faster tier, a search) is the operator's cost, or refused.
#[test]
fn what_is_passed_costs_what_the_operator_says() {
    run(async {
        let provider = counting_provider().await;
        let url = provider.url();
        let more = format!(
            "[providers.counting]\nbase_url = \"{url}\"\nauth = \"bearer\"\n\n[providers.counting.accounts.main]\n\
             secret = {{ file = \"SECRET\" }}\n\n[models.passing]\nprovider = \"counting\"\nprotocol = \"chat\"\n\
             prices = {{ input = \"2\", output = \"5\" }}\n\
             rules = {{ pass = [\"service_tier\", \"web_search_options\"] }}\n\n\
             [models.passing.pass_prices]\n\"service_tier=priority\" = {{ factor = \"2\" }}\n\
             web_search_options = {{ request = \"0.01\" }}\n\n"
        );
        let scene = Scene::start(&more).await;
        let told = json!({"usage": {"prompt_tokens": 1000, "completion_tokens": 50}});
        let plain = 1000 * INPUT + 50 * OUTPUT;
        for (fields, cost) in [
            (json!({}), plain),
            (json!({"service_tier": "default"}), plain),
            (json!({"service_tier": "priority"}), 2 * plain),
            (json!({"web_search_options": {}}), plain + 10_000),
            (json!({"web_search_options": {}, "service_tier": "priority"}), 2 * plain + 10_000),
        ] {
            let mut body = with(asked("passing", &told), fields.clone());
            let before = scene.spent().await;
            ended(scene.send(Wire::Chat, &body).await).await;
            assert_eq!(scene.spent().await - before, cost, "{fields}");
            body["dry_run"] = json!(true);
            let priced = ended(scene.send(Wire::Chat, &body).await).await.to_string();
            let has_fee = fields.get("web_search_options").is_some();
            assert_eq!(priced.contains("\"unit\":\"unit\""), has_fee, "{fields}: {priced}");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn usage_counts_the_tokens_that_were_billed() {
    run(async {
        let scene = Scene::start("").await;
        let (mut input, mut output) = (0, 0);
        for (client, provider) in CROSSINGS {
            let answer = scene.send(client, &request(provider, "hello", false)).await.end().await;
            let body: Value = serde_json::from_str(&answer.body).expect("JSON");
            let (read, written) = match client {
                Wire::Chat => ("prompt_tokens", "completion_tokens"),
                Wire::Messages => ("input_tokens", "output_tokens"),
            };
            input += body["usage"][read].as_u64().expect("a count");
            output += body["usage"][written].as_u64().expect("a count");
        }
        let refused = scene.send(Wire::Chat, &request(Wire::Chat, "[[400]]x", false)).await.end().await;
        assert_eq!(refused.status, 400, "{refused:?}");
        let spent = scene.spent().await;
        let usage = scene.caller.get("/v1/usage").await.json();
        let total = &usage["total"];
        let read = ["input_tokens", "cached_tokens", "cache_write_tokens"]
            .map(|field| total[field].as_u64().expect("a count"));
        assert_eq!((read.iter().sum::<u64>(), &total["output_tokens"]), (input, &json!(output)));
        assert_eq!((&total["requests"], &total["failures"]), (&json!(5), &json!(1)));
        assert_eq!(total["cost_micro"], json!(spent));
        let models: Vec<&str> =
            usage["data"].as_array().expect("rows").iter().filter_map(|row| row["model"].as_str()).collect();
        assert_eq!(models, ["over-chat", "over-messages"]);
        scene.gateway.expect_sound_ledger().await;
    });
}
