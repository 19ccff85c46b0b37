//! Prices of a public list: what would change is shown, is written only when asked, and is in effect at once; a list or a
//! configuration that cannot be used changes nothing.

use std::fs;

use gatehouse_harness::{Gateway, run};
use serde_json::{Value, json};

use crate::gateways::{setup, usual_sandbox};

const LIST: &str = r#"{
    "sample_spec": {"input_cost_per_token": 0.0, "mode": "one of chat, embedding"},
    "gpt-sim": {
        "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05, "cache_read_input_token_cost": 1.25e-07,
        "input_cost_per_token_batches": 1.25e-06, "max_input_tokens": 128000, "mode": "chat"
    },
    "other": {"input_cost_per_token": 1.00000000003e-06, "output_cost_per_token": 5e-06},
    "broken": {"input_cost_per_token": "free", "output_cost_per_token": 5e-06}
}"#;

async fn import(gateway: &Gateway, more: &[&str]) -> Value {
    let list = gateway.folder().join("list.json").display().to_string();
    gateway.json(&[&["prices", "import", &list], more].concat()).await
}

/// Without it an operator retypes the prices of forty models, one of them wrong, or a tool does so without a look.
#[test]
fn a_list_is_compared_and_written_only_when_asked() {
    run(async {
        let sandbox = usual_sandbox().await;
        let more = format!(
            "[providers.chat]\nbase_url = \"{}\"\nauth = \"bearer\"\n\n\
             [providers.chat.accounts.main]\nsecret = {{ file = \"SECRET\" }}\n\n\
             [models.\"over-chat\"]\nprovider = \"chat\"\nprotocol = \"chat\"\nupstream = \"gpt-sim\"\n\
             prices = {{ input = \"2\", output = \"10\" }}   # agreed in May\n\n\
             [models.\"unlisted\"]\nprovider = \"chat\"\nprotocol = \"chat\"\nprices = {{ input = \"2\", output = \"5\" }}\n\n",
            sandbox.chat().origin
        );
        let gateway = Gateway::start(setup(&sandbox).with(&more)).await;
        fs::write(gateway.folder().join("list.json"), LIST).expect("a list");
        let before = gateway.config();

        let shown = import(&gateway, &["--model", "over-chat"]).await;
        let of_model = &shown["models"][0];
        let change = |price: &str, before: Option<i64>, after: i64| json!({"price": price, "before_micro": before, "after_micro": after, "rounded_up": false});
        let expected = json!([change("cached", None, 125_000), change("input", Some(2_000_000), 2_500_000)]);
        assert_eq!((&of_model["changes"], &of_model["unchanged"]), (&expected, &json!(1)), "{shown}");
        let others = json!([{"field": "input_cost_per_token_batches", "value": "1.25e-06"}]);
        assert_eq!(
            (&of_model["not_understood"], &of_model["entry"]),
            (&others, &json!("gpt-sim")),
            "{shown}"
        );
        let list = gateway.folder().join("list.json").display().to_string();
        let words = gateway.command(&["prices", "import", &list]).await;
        for line in [
            "unlisted: the list has no entry of it",
            "nothing is written; --apply writes it",
            "2 prices differ",
        ] {
            assert!(words.contains(line), "{line}: {words}");
        }
        assert_eq!((&shown["applied"], gateway.config()), (&json!(false), before), "nothing is written");

        let applied =
            import(&gateway, &["--model", "over-chat", "--credits-per-dollar", "100", "--apply"]).await;
        assert_eq!(applied["applied"], json!(true), "{applied}");
        let changed = applied["reload"]["changed"].as_array().expect("a list");
        assert!(changed.contains(&json!("models.over-chat.prices.input")), "{applied}");
        let written = gateway.config();
        assert!(written.contains("# agreed in May") && written.contains("input = \"250\""), "{written}");
        let active = gateway.json(&["prices", "show"]).await;
        let tokens = active["tokens"].as_array().expect("models");
        let of_model = tokens.iter().find(|row| row["model"] == "over-chat").expect("it is there");
        let prices = ["input_micro", "output_micro", "cached_micro"].map(|name| &of_model[name]);
        assert_eq!(prices, [&json!(250_000_000), &json!(1_000_000_000), &json!(12_500_000)], "{of_model}");
        let diff = gateway.command(&["prices", "diff", "2"]).await;
        assert!(diff.contains("over-chat"), "a version of the price book: {diff}");
        let again =
            import(&gateway, &["--model", "over-chat", "--credits-per-dollar", "100", "--apply"]).await;
        assert_eq!(
            (&again["applied"], &again["models"][0]["changes"]),
            (&json!(false), &json!([])),
            "{again}"
        );

        let rounded = import(&gateway, &["--model", "unlisted=other"]).await;
        assert_eq!(rounded["models"][0]["changes"][0]["rounded_up"], json!(true), "{rounded}");
        for (arguments, why) in [
            (
                ["--model", "unlisted=broken", "--apply"],
                "input_cost_per_token: expected dollars for one token",
            ),
            (["--model", "none", "--apply"], "expected a text model of the configuration"),
            (["--model", "unlisted=none", "--apply"], "the list has no entry \"none\""),
        ] {
            let (_, said) = gateway.refused(&[&["prices", "import", &list], &arguments[..]].concat()).await;
            assert!(said.contains(why), "{arguments:?}: {said}");
        }
        // A gateway that refuses the file has it as it was.
        let spoilt = gateway.config().replace("[models.\"unlisted\"]", "[models.\"unlisted\"]\nnonsense = 1");
        gateway.set_config(&spoilt);
        gateway.refused(&["prices", "import", &list, "--model", "unlisted=other", "--apply"]).await;
        assert_eq!(gateway.config(), spoilt);
    });
}
