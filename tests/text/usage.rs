//! The tokens a text request is billed for are those its usage shows, whichever protocol it speaks.

use gatehouse_harness::run;
use serde_json::json;

use crate::text::scene::{CROSSINGS, Scene, Wire, request};

#[test]
fn usage_counts_the_tokens_that_were_billed() {
    run(async {
        let scene = Scene::start("").await;
        let (mut input, mut output) = (0, 0);
        for (client, provider) in CROSSINGS {
            let answer = scene.send(client, &request(provider, "hello", false)).await.end().await;
            let body: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
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
        let usage = scene.caller.send("GET", "/v1/usage", &[], "").await.json();
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
