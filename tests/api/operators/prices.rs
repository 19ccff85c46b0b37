//! Prices for operators: the book by family, and what a request would cost, without a key, money or a task.

use gatehouse_harness::run;
use serde_json::{Value, json};

use crate::api::TestGateway;

const PREVIEW: &str = "/admin/v1/price-books/preview";

#[test]
fn a_preview_is_what_the_request_then_costs() {
    run(async {
        let gateway = TestGateway::start().await;
        let tasks = async || gateway.caller.get("/v1/tasks").await.json()["data"].clone();
        let body = json!({"model": "ctx-pro", "prompt": "a red kite"});
        let asked = json!({"path": "/v1/images/generations", "body": body});
        let answer = gateway.process.operator().post(PREVIEW, &asked).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let preview = answer.json();
        assert_eq!((&preview["model"], &preview["at_most"]), (&json!("ctx-pro"), &json!(false)));
        let charge = &preview["charges"][0];
        assert!(charge["price_keys"].as_array().expect("keys").contains(&charge["price_key"]), "{preview}");
        assert_eq!(charge["sum_micro"], preview["sum_micro"], "{preview}");
        assert_eq!(tasks().await, json!([]), "nothing was made");

        // The same by the operation, and by the command.
        let by_name = json!({"operation": "images.generate", "body": body});
        assert_eq!(gateway.process.operator().post(PREVIEW, &by_name).await.json(), preview);
        let told = gateway.process.json(&["prices", "preview", "images.generate", &body.to_string()]).await;
        assert_eq!(told["sum_micro"], preview["sum_micro"], "{told}");

        // What it is charged then.
        let before = gateway.process.account("acme").await["spent"].as_i64().expect("credits");
        gateway.finish(&body).await;
        let after = gateway.process.account("acme").await["spent"].as_i64().expect("credits");
        assert_eq!(json!(after - before), preview["sum_micro"]);
    });
}

#[test]
fn a_text_is_priced_at_the_most_and_errors_name_their_fields() {
    run(async {
        let gateway = TestGateway::start_with(
            "[models.\"my-text\"]\nprovider = \"bfl\"\nprotocol = \"chat\"\nprices = { input = \"3\", output = \"15\" }\n",
        )
        .await;
        let ask = async |body: Value| gateway.process.operator().post(PREVIEW, &body).await;
        let text = json!({"model": "my-text", "max_tokens": 1000, "messages": [{"role": "user", "content": "hello"}]});
        let answer = ask(json!({"path": "/v1/chat/completions", "body": text})).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let preview = answer.json();
        assert_eq!(preview["at_most"], json!(true));
        let output = &preview["charges"][1];
        assert_eq!(
            (&output["unit"], &output["unit_price_micro"]),
            (&json!("output_tokens"), &json!(15_000_000))
        );
        assert_eq!((&output["quantity"], &output["sum_micro"]), (&json!(1000), &json!(15_000)), "{preview}");

        let images = "/v1/images/generations";
        for (body, param) in [
            (json!({"path": images, "body": {"model": "ctx-pro"}}), "prompt"),
            (json!({"path": images, "body": {"model": "none", "prompt": "x"}}), "model"),
            (json!({"path": "/v1/none", "body": {}}), "path"),
            (json!({"path": "images", "body": {}}), "path"),
            (json!({"body": {}}), "path"),
            (json!({"path": images, "operation": "images.generate", "body": {}}), "operation"),
        ] {
            let answer = ask(body.clone()).await;
            assert_eq!(answer.refusal("param"), (400, json!(param)), "{body}");
        }
        let (code, said) = gateway.process.refused(&["prices", "preview", "images.generate", "{}"]).await;
        assert!(code == Some(1) && said.contains("prompt"), "{code:?}: {said}");
    });
}

#[test]
fn the_book_says_whose_price_is_whose() {
    run(async {
        let more = "[prices]\n\"nobodys-key\" = \"1\"\n";
        let gateway = TestGateway::start_with(more).await;
        let book = gateway.process.operator().get("/admin/v1/price-books/active").await.json();
        let families = book["families"].as_array().expect("families");
        let family = families.iter().find(|family| family["family"] == "context-image").expect("the family");
        assert!(!family["units"].as_array().expect("prices").is_empty(), "{family}");
        assert!(families.iter().all(|family| family["missing"] == json!([])), "{book}");
        assert!(book["unused"].as_array().expect("keys").contains(&json!("nobodys-key")), "{book}");
        assert!(gateway.process.command(&["prices", "show"]).await.contains("context-image"));
    });
}
