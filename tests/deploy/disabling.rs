//! Families that an operator switches off and on while the gateway serves, by command and by configuration.

use gatehouse_harness::{Caller, Gateway, run, until};
use serde_json::{Value, json};

use crate::deploy::{IMAGES, start};

/// Whether `/v1/models` and the documentation name a model.
async fn is_offered(caller: &Caller, model: &str) -> [bool; 2] {
    let listed = caller.get("/v1/models").await.json();
    let listed = listed["data"].as_array().expect("models").iter().any(|one| one["id"] == model);
    let document = caller.get("/v1/openapi.json").await;
    [listed, document.json().to_string().contains(&format!("\"{model}\""))]
}

async fn state_of(gateway: &Gateway, family: &str) -> Value {
    let plugins = gateway.plugins().await;
    plugins.iter().find(|one| one["family"] == family).expect("the family")["state"].clone()
}

/// Without it an operator could only take a family away by editing its prices.
#[test]
fn a_family_is_switched_off_and_on_under_its_tasks() {
    run(async {
        let (mut gateway, sandbox, caller) = start("").await;
        let held =
            caller.post(IMAGES, &json!({"model": "ctx-pro", "prompt": "[[poll-500:3]]"})).await.task_id();
        until("the provider has it", async || !sandbox.context_record().submits.is_empty()).await;
        assert_eq!(is_offered(&caller, "ctx-pro").await, [true, true]);

        let said = gateway.command(&["plugin", "disable", "context-image"]).await;
        assert!(said.contains("context-image serves no new request"), "{said}");
        assert_eq!(state_of(&gateway, "context-image").await, "disabled");
        assert_eq!(is_offered(&caller, "ctx-pro").await, [false, false]);
        let refused = caller.post(IMAGES, &json!({"model": "ctx-pro", "prompt": "kite"})).await;
        let error = &refused.json()["error"];
        assert_eq!((refused.status, &error["reason"]), (503, &json!("model_not_served")), "{error}");
        assert!(error["message"].to_string().contains("switched it off"), "{error}");
        assert!(gateway.log_text().contains("gatehouse plugin enable FAMILY"), "the remedy");
        assert_eq!(caller.end_of(&held).await["status"], "completed", "it goes on");

        gateway.terminate().await;
        gateway.restart().await;
        let caller = caller.at(gateway.public);
        assert_eq!(is_offered(&caller, "ctx-pro").await, [false, false], "also after a restart");
        gateway.command(&["plugin", "enable", "context-image"]).await;
        assert_eq!(is_offered(&caller, "ctx-pro").await, [true, true]);
        let served = caller.post(IMAGES, &json!({"model": "ctx-pro", "prompt": "kite"})).await.task_id();
        assert_eq!(caller.end_of(&served).await["status"], "completed");

        let (_, text) = gateway.refused(&["plugin", "disable", "contxt"]).await;
        assert!(text.contains("the families are") && text.contains("context-image"), "{text}");
        let (_, text) = gateway.refused(&["plugin", "uninstall", "context-image"]).await;
        assert!(text.contains("plugin disable context-image"), "{text}");
        assert_eq!(is_offered(&caller, "ctx-pro").await, [true, true], "a refusal switches nothing off");
        gateway.expect_sound_ledger().await;
    });
}

/// A family that the file switches off is not even installed by the first start, and comes with a reload.
#[test]
fn the_file_switches_a_family_off_and_a_reload_brings_it() {
    run(async {
        let off = "[plugins.families.context-image]\nenabled = false\n\n";
        let (gateway, _sandbox, caller) = start(off).await;
        let list = gateway.command(&["plugin", "list"]).await;
        assert!(!list.contains("context-image"), "{list}");
        assert_eq!(is_offered(&caller, "ctx-pro").await, [false, false]);
        let text = gateway.config();
        gateway.reload(&text.replace("image]\nenabled = false", "image]\nenabled = true")).await;
        assert_eq!(is_offered(&caller, "ctx-pro").await, [true, true]);
        let hidden =
            text.replace("[plugins.families", "[plugins]\nunserved = \"not_found\"\n\n[plugins.families");
        gateway.reload(&hidden).await;
        let unknown = caller.post(IMAGES, &json!({"model": "ctx-pro", "prompt": "kite"})).await;
        let never = caller.post(IMAGES, &json!({"model": "ctx-never", "prompt": "kite"})).await;
        let told = |answer: &gatehouse_harness::Response| answer.text().replace("ctx-pro", "ctx-never");
        assert_eq!(
            (unknown.status, told(&unknown)),
            (never.status, told(&never)),
            "nothing tells them apart"
        );
        assert_eq!(state_of(&gateway, "context-image").await, "disabled");
        assert_eq!(is_offered(&caller, "ctx-pro").await, [false, false]);
    });
}
