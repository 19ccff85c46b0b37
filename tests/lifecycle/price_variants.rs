//! Variants of the price book: what their customers are shown, held and billed, across reloads, and what becomes of customers
//! whose variant is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_harness::{Caller, Gateway, run, until, with};
use gatehouse_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::gateways::{settings, usual_sandbox};
use crate::lifecycle::{request, setup};

const IMAGES: &str = "/v1/images/generations";

/// A book, and a variant with another price of a picture and of tokens written.
fn more(chat: &str, picture: &str) -> String {
    format!(
        "[prices]\n\"ctx-pro\" = \"4\"\n\n\
         [providers.chat]\nbase_url = \"{chat}\"\nauth = \"bearer\"\n\n\
         [providers.chat.accounts.main]\nsecret = {{ file = \"SECRET\" }}\n\n\
         [models.\"over-chat\"]\ntargets = [{{ provider = \"chat\", protocol = \"chat\", upstream = \"gpt-sim\", prices = {{ input = \"2\", output = \"5\" }} }}]\n\
         prices = {{ input = \"3\", output = \"7\" }}\n\n\
         [price_variants.partner.prices]\n\"ctx-pro\" = \"{picture}\"\n\n\
         [price_variants.partner.models.\"over-chat\"]\noutput = \"1.5\"\n\n\
         [price_variants.other.prices]\n\"ctx-pro\" = \"2\"\n\n"
    )
}

/// What a dry run says of a picture.
async fn quoted(caller: &Caller) -> Value {
    let mut body = request("a kite");
    body["dry_run"] = json!(true);
    let answer = caller.post(IMAGES, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"]["sum"].clone()
}

/// Prices of a model as its list shows them.
async fn listed(caller: &Caller, model: &str) -> Value {
    let answer = caller.get(&format!("/v1/models/{model}")).await.json();
    let prices = answer["prices"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
    prices.iter().map(|price| price["unit_price"].clone()).collect()
}

async fn submit(caller: &Caller, prompt: &str) -> String {
    caller.post(IMAGES, &request(prompt)).await.task_id()
}

/// A text, and what it is to cost by its own tokens: 2 credits a million of those that are read, and tenths of a credit a million of
/// those that are written.
async fn expect_text_cost(gateway: &Gateway, caller: &Caller, account: &str, tenths: u64) {
    let spent = async || gateway.account_without_holds(account).await["spent"].as_u64().expect("credits");
    let before = spent().await;
    let body = json!({"model": "over-chat", "messages": [{"role": "user", "content": "tell me of kites"}]});
    let answer = caller.post("/v1/chat/completions", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let usage = answer.json()["data"]["usage"].clone();
    let tokens = |name: &str| usage[name].as_u64().unwrap_or_else(|| panic!("{usage}"));
    // A credit for a million tokens is a micro-credit a token.
    let cost = (tokens("prompt_tokens") * 20 + tokens("completion_tokens") * tenths).div_ceil(10);
    assert_eq!(spent().await - before, cost, "{usage}");
}

/// Without it a customer with prices of its own is shown one price and billed another, or a reload changes what was agreed on.
#[test]
fn a_customer_is_shown_held_and_billed_at_the_prices_of_its_variant() {
    run(async {
        // The provider's time stands still, so no job ends before it is to.
        let clock = Arc::new(AtomicU64::new(1_800_000_000_000));
        let now = Arc::clone(&clock);
        let settings = settings(Duration::from_millis(20)).with_now(move || now.load(Ordering::SeqCst));
        let sandbox = Sandbox::start(settings).await;
        let sandbox = sandbox.expect("a sandbox");
        let gateway = Gateway::start(setup(&sandbox).with(&more(&sandbox.chat().origin, "3"))).await;
        let (plain, partner) =
            (gateway.open_account("acme", "1000").await, gateway.open_account("beta", "1000").await);
        let (_, said) = gateway.refused(&["account", "edit", "beta", "--prices", "partnr"]).await;
        assert!(said.contains("expected one of other, partner, got"), "{said}");
        let shown = gateway.command(&["account", "edit", "beta", "--prices", "partner"]).await;
        assert!(shown.contains("partner"), "{shown}");

        assert_eq!((quoted(&plain).await, quoted(&partner).await), (json!(4), json!(3)));
        assert_eq!(listed(&plain, "ctx-pro").await[0], json!(4));
        assert_eq!(listed(&partner, "ctx-pro").await[0], json!(3));
        assert_eq!(listed(&plain, "over-chat").await, json!([3, 7]));
        assert_eq!(listed(&partner, "over-chat").await, json!([3, 1.5]));
        expect_text_cost(&gateway, &plain, "acme", 50).await;
        expect_text_cost(&gateway, &partner, "beta", 15).await;

        let (early, other) = (submit(&partner, "before").await, submit(&plain, "book").await);
        let cheaper = gateway.config().replace("\"ctx-pro\" = \"3\"", "\"ctx-pro\" = \"1\"");
        let changed = gateway.reload(&cheaper).await;
        assert_eq!(changed["changed"], json!(["price_variants.partner.prices.ctx-pro"]));
        let late = submit(&partner, "after").await;
        let versions = gateway.command(&["prices", "diff", "2"]).await;
        assert!(versions.contains("partner: ctx-pro"), "{versions}");
        let body = request("a kite").to_string();
        let preview = async |more: &[&str]| {
            let command = [&["prices", "preview", IMAGES, &body, "--customer", "beta"], more].concat();
            gateway.command(&command).await
        };
        assert!(preview(&[]).await.contains("ctx-pro: 1 credits"), "{}", preview(&[]).await);
        assert!(preview(&["--book", "1"]).await.contains("ctx-pro: 3 credits"), "at the prices of then");

        let at = cheaper.find("[price_variants.partner.prices]").expect("a variant");
        let end = cheaper.find("[price_variants.other.prices]").expect("another");
        let gone = gateway.reload(&(cheaper[..at].to_owned() + &cheaper[end..])).await;
        let warned = gone["warnings"].to_string();
        assert!(warned.contains("price_variants.partner is gone: customers that point to it pay"), "{gone}");
        let orphan = submit(&partner, "no variant").await;
        // A job that comes later than this would wait for the provider's time.
        until("the provider has every job", async || sandbox.context_record().submits.len() == 4).await;
        clock.fetch_add(60_000, Ordering::SeqCst);
        for (caller, task, cost) in
            [(&partner, early, 3), (&plain, other, 4), (&partner, late, 1), (&partner, orphan, 4)]
        {
            let task = caller.end_of(&task).await;
            assert_eq!((&task["status"], &task["cost"]), (&json!("completed"), &json!(cost)), "{task}");
        }
        // An edit of something else leaves it where it points, though the name is not there.
        gateway.command(&["account", "edit", "beta", "--low-balance", "1"]).await;
        let none = gateway.json(&["account", "edit", "beta", "--prices", "none"]).await;
        assert_eq!(none.get("price_variant"), Some(&Value::Null), "{none}");
        gateway.expect_sound_ledger().await;
    });
}

/// Without it an operator is told of a price that nobody was charged then, or that the version has no price.
#[test]
fn a_preview_by_the_version_in_effect_is_the_preview() {
    run(async {
        let sandbox = usual_sandbox().await;
        let passing = "output = \"7\" }\nrules = { pass = [\"service_tier\", \"web_search_options\"] }\n\
                       pass_prices = { \"service_tier=priority\" = { factor = \"2\" }, \
                       web_search_options = { request = \"0.01\" } }";
        let config = more(&sandbox.chat().origin, "3")
            .replace("\"ctx-pro\" = \"3\"", "\"ctx-pro\" = { credits = \"3000\", per = 1000 }")
            .replace("output = \"5\" }", "output = \"5\", counters = { \"input-audio\" = \"40\" } }")
            .replace("output = \"7\" }", passing);
        let gateway = Gateway::start(setup(&sandbox).with(&config)).await;
        gateway.open_account("beta", "1000").await;
        gateway.command(&["account", "edit", "beta", "--prices", "partner"]).await;
        let text = |fields: Value| {
            let messages = json!([{"role": "user", "content": "tell me of kites"}]);
            with(json!({"model": "over-chat", "max_tokens": 100, "messages": messages}), fields)
        };
        let priority = json!({"service_tier": "priority"});
        let both = json!({"service_tier": "priority", "web_search_options": {}});
        let chats = "/v1/chat/completions";
        for (path, body, plain, partner) in [
            (IMAGES, request("a kite"), [4_000_000_i64].as_slice(), [3_000_000_000_i64].as_slice()),
            (chats, text(json!({})), &[40_000_000, 5_000_000], &[40_000_000, 1_500_000]),
            (chats, text(priority), &[80_000_000, 10_000_000], &[80_000_000, 3_000_000]),
            (chats, text(both), &[80_000_000, 10_000_000, 10_000], &[80_000_000, 3_000_000, 10_000]),
        ] {
            let body = body.to_string();
            for (customer, prices) in [(&[][..], plain), (&["--customer", "beta"], partner)] {
                let asked = [&["prices", "preview", path, &body], customer].concat();
                let now = gateway.json(&asked).await;
                let charges = now["charges"].as_array().expect("charges");
                let told: Vec<_> = charges.iter().map(|charge| charge["unit_price_micro"].clone()).collect();
                assert_eq!(json!(told), json!(prices), "{body} {customer:?}");
                let then = gateway.json(&[&asked[..], &["--book", "1"]].concat()).await;
                assert_eq!(then, now, "{body} {customer:?}");
            }
        }
    });
}

/// Without it a slip in a name or a price is found by a customer's bill.
#[test]
fn check_config_names_what_a_variant_cannot_mean() {
    run(async {
        let sandbox = usual_sandbox().await;
        let gateway = Gateway::start(setup(&sandbox).with(&more(&sandbox.chat().origin, "3"))).await;
        let config = gateway.config();
        for (from, to, why) in [
            (
                "variants.partner.models.\"over-chat\"",
                "variants.partner.models.\"over-chta\"",
                "expected the id of a text model",
            ),
            ("output = \"1.5\"", "output = \"-1.5\"", "price_variants.partner.models.over-chat.output"),
            ("\"ctx-pro\" = \"3\"", "\"ctx-pro\" = \"-3\"", "price_variants.partner.prices.ctx-pro"),
            ("[price_variants.other.prices]", "[price_variants.Other.prices]", "small letters"),
        ] {
            assert!(config.contains(from), "{from}");
            gateway.set_config(&config.replace(from, to));
            let (_, said) = gateway.refused(&["check-config"]).await;
            assert!(said.contains(why), "{to}: {said}");
        }
    });
}
