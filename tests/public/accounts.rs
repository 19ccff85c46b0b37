//! Two accounts at each provider of pictures and films, of which the preferred one is refused: the other makes what was asked
//! for, in the same task, whatever the refusal looks like.

use std::fs;
use std::time::Duration;

use gatehouse_harness::{run, until};
use serde_json::json;

use crate::public::Scene;

/// Providers, and what an account needs besides its secret.
const PROVIDERS: [(&str, &str); 6] = [
    ("bfl", ""),
    ("xai", ""),
    ("dashscope", ""),
    ("ark", ""),
    ("ark-assets", "key_id = { file = \"ID\" }\n"),
    ("midjourney", ""),
];

/// Without it every task of an account that is not paid for, or whose key was changed, fails while another could do it.
#[test]
fn a_refused_account_is_passed_over_within_the_task() {
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let secret = folder.path().join("wrong");
        fs::write(&secret, "a-key-that-nobody-has\n").expect("a secret");
        let id = format!("{}/../../tests/video/clip/keys/first-id", env!("CARGO_MANIFEST_DIR"));
        let more: String = PROVIDERS
            .iter()
            .map(|(provider, fields)| {
                format!(
                    "[providers.{provider}.accounts.main]\npriority = 9\n\n\
                     [providers.{provider}.accounts.refused]\nsecret = {{ file = {secret:?} }}\npriority = 1\n{}\n",
                    fields.replace("ID", &id)
                )
            })
            .collect();
        let scene = Scene::start_with(Duration::ZERO, &more).await;
        let image = scene.sample("512x512.png");
        for (path, body) in [
            ("/v1/images/generations", json!({"model": "ctx-pro", "prompt": "a kite"})),
            ("/v1/images/generations", json!({"model": "imagine-1.5-gw", "prompt": "a kite"})),
            ("/v1/videos/generations", json!({"model": "motion-2.6", "prompt": "a kite"})),
            ("/v1/videos/generations", json!({"model": "clip-2.0", "prompt": "a kite"})),
            ("/v1/journey/generations/imagine", json!({"prompt": "a kite"})),
        ] {
            scene.done(path, &body).await;
        }
        // With a group to be looked for, and with one to be made.
        for more in [json!({}), json!({"group": {"name": "faces"}})] {
            let mut body = json!({"url": image, "name": "face"});
            body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            let answer = scene.caller.post("/v1/clip2/private-avatar", &body).await;
            let id = answer.json()["data"]["id"].as_str().expect("an id").to_owned();
            let task = scene.caller.end_of(&id).await;
            assert_eq!(task["status"], "completed", "{body}: {task}");
        }
        let is_told = |provider: &str| {
            let log = scene.gateway.log_text();
            log.lines().any(|line| line.contains(provider) && line.contains("refuses this account"))
        };
        for (provider, _) in PROVIDERS {
            until("the operator is told", async || is_told(provider)).await;
        }
        scene.gateway.expect_sound_ledger().await;
    });
}
