//! Continuations: the original's owner, state, family and model, its 7 seconds more, the new part alone, the chain, the account
//! of the original, and a gateway that is killed in between.

use gatehouse_harness::{message_of, run, until};
use serde_json::{Value, json};

use super::{id, key_file, text};
use crate::video::{FilmFacts, TestGateway, expect_refused, film_of, with};

fn remix(more: Value) -> Value {
    with(json!({"model": "scene-3.1-fast", "prompt": "it lands"}), more)
}

/// Width, height, milliseconds, and whether there is sound.
async fn film(task: &Value) -> (u32, u32, u64, bool) {
    let FilmFacts { width, height, milliseconds, has_sound } = film_of(task).await;
    (width, height, milliseconds, has_sound)
}

#[test]
fn a_video_is_continued_from_8_to_15_seconds_and_on() {
    run(async {
        let gateway = TestGateway::start().await;
        let tall = json!({"aspect_ratio": "9:16", "generate_audio": true, "person_generation": "disallow", "prompt": "first"});
        let first = gateway.finish(&text(tall)).await;
        assert_eq!(film(&first).await, (720, 1280, 8000, true));
        let second = gateway
            .finish_remix(id(&first), &remix(json!({"prompt": "second", "aspect_ratio": "9:16"})))
            .await;
        assert_eq!(film(&second).await, (720, 1280, 15_000, true));
        let sent = gateway.begun("second").body;
        let parameters = json!({
            "aspectRatio": "9:16", "resolution": "720p", "sampleCount": 1, "personGeneration": "dont_allow",
            "enhancePrompt": true, "generateAudio": true,
        });
        assert_eq!(sent["parameters"], parameters);
        assert_eq!(sent["instances"][0]["video"]["mimeType"], "video/mp4");
        // Where the host cannot cut, the task fails with that reason.
        let broken = remix(json!({"prompt": "[[truncated-file]]", "raw": true}));
        let uncut = gateway.finish_remix(id(&second), &broken).await;
        let message = message_of(&uncut);
        assert!(
            message.starts_with("the new part cannot be had alone: the result cannot be cut: "),
            "{uncut}"
        );
        assert!(uncut["status"] == "failed" && uncut["cost"] == 0.0, "{uncut}");
        // Only the new part, under another name of the model, and larger.
        let raw = remix(
            json!({"prompt": "third", "raw": true, "resolution": "1080p", "model": "scene-3.1-fast-ext"}),
        );
        let third = gateway.finish_remix(id(&second), &raw).await;
        assert_eq!(film(&third).await, (1080, 1920, 7000, true));
        // What the client has of that is 7 seconds.
        let fourth =
            gateway.finish_remix(id(&third), &remix(json!({"prompt": "fourth", "resolution": "4k"}))).await;
        assert_eq!(film(&fourth).await, (2160, 3840, 14_000, true));
        // On to the longest: 15, 22, 29 and 36 seconds.
        let mut last = second;
        for seconds in [22, 29, 36] {
            last = gateway.finish_remix(id(&last), &remix(json!({}))).await;
            assert_eq!(film(&last).await.2, seconds * 1000);
        }
        let answer = gateway.remix(id(&last), &remix(json!({}))).await;
        let words = "`task_id`: expected a video of at most 30 s, got one of 36 s";
        assert_eq!(answer.refusal("message"), (400, json!(words)));
        assert_eq!(gateway.sandbox.veo_record().declined, []);
        gateway.process.expect_sound_ledger().await;
    });
}

#[test]
fn only_a_finished_video_of_ones_own_is_continued() {
    run(async {
        let gateway = TestGateway::start().await;
        let done = gateway.finish(&text(json!({}))).await;
        let refused = async |task: &str, body: Value, status: u16, words: &str| {
            expect_refused(&gateway.remix(task, &body).await, status, &body, words);
        };
        let rows = [
            (json!({"prompt": null}), "`prompt`: expected a string, got null"),
            (json!({"prompt": " "}), "`prompt`: expected a text that is not blank"),
            (json!({"raw": "yes"}), "`raw`: expected true or false"),
            (json!({"aspect_ratio": "1:1"}), "`aspect_ratio`: expected `16:9` or `9:16`"),
            (json!({"aspect_ratio": "9:16"}), "`aspect_ratio`: expected that of the original, `16:9`"),
            (json!({"resolution": "480p"}), "`resolution`: expected one of"),
            (
                json!({"model": "scene-3.1-quality"}),
                "`model`: expected the model of the original, `scene-3.1-fast`",
            ),
            (json!({"model": "motion-2.6"}), "motion-2.6"),
            (json!({"model": "nothing"}), "nothing"),
        ];
        for (fields, words) in rows {
            refused(id(&done), remix(fields), 400, words).await;
        }
        for unknown in ["task_1", "task_01KDWFAMDV000000000000000B"] {
            refused(unknown, remix(json!({})), 404, &format!("unknown video \"{unknown}\"")).await;
        }
        // Another customer's is as unknown as one that never existed.
        let other = gateway.process.open_account("rival", "1000").await;
        let answer = other.post(&format!("/v1/videos/{}/remix", id(&done)), &remix(json!({}))).await;
        let message = format!("unknown video \"{}\"", id(&done));
        assert_eq!(answer.refusal("message"), (404, json!(message)));
        let running = gateway.submit(&text(json!({"prompt": "[[never-ready]]"}))).await.task_id();
        refused(&running, remix(json!({})), 400, "`task_id`: expected a completed video, got one that is ")
            .await;
        let failed = gateway.finish(&text(json!({"prompt": "[[error-13]]"}))).await;
        refused(
            id(&failed),
            remix(json!({})),
            400,
            "`task_id`: expected a completed video, got one that is failed",
        )
        .await;
        let film = gateway.finish(&json!({"model": "motion-2.6", "prompt": "a red kite"})).await;
        let words = "`task_id`: expected a video of a scene-3.1 model, got a task of the model motion-2.6";
        refused(id(&film), remix(json!({})), 400, words).await;
        let record = gateway.sandbox.veo_record();
        let continues = |body: &Value| !body["instances"][0]["video"].is_null();
        assert!(!record.operations.iter().any(|begun| continues(&begun.body)), "{record:?}");
    });
}

#[test]
fn a_bucket_keeps_videos_for_their_continuation() {
    run(async {
        let bucket = "[plugins.settings.scene]\nstorage_uri = \"gs://films/scene/\"\n";
        let gateway = TestGateway::start_with(bucket).await;
        let first = gateway.finish(&text(json!({"prompt": "first"}))).await;
        assert_eq!(film_of(&first).await.milliseconds, 8000);
        assert_eq!(gateway.begun("first").downloads, 1);
        let raw = gateway.finish_remix(id(&first), &remix(json!({"prompt": "second", "raw": true}))).await;
        assert_eq!(film_of(&raw).await.milliseconds, 7000);
        let sent = gateway.begun("second").body["instances"][0]["video"].clone();
        assert!(sent["gcsUri"].as_str().is_some_and(|uri| uri.starts_with("gs://films/scene/")), "{sent}");
        // The provider's file has 22 seconds by now; the client has 7 of the first 15, and gets 14.
        let third = gateway.finish_remix(id(&raw), &remix(json!({"prompt": "third"}))).await;
        assert_eq!(film_of(&third).await.milliseconds, 14_000);
        let fourth = gateway.finish_remix(id(&raw), &remix(json!({"prompt": "fourth", "raw": true}))).await;
        assert_eq!(film_of(&fourth).await.milliseconds, 7000);
        assert_eq!(gateway.sandbox.veo_record().declined, []);
    });
}

#[test]
fn the_account_of_the_original_continues_it() {
    run(async {
        let second =
            format!("[providers.veo.accounts.second]\nsecret = {{ file = \"{}\" }}\n", key_file("second"));
        let gateway = TestGateway::start_with(&second).await;
        let mut accounts = std::collections::BTreeSet::new();
        for round in 0..40 {
            let (first, next) = (format!("first {round}"), format!("next {round}"));
            let original = gateway.finish(&text(json!({"prompt": first, "duration": 4}))).await;
            let longer = gateway.finish_remix(id(&original), &remix(json!({"prompt": next}))).await;
            assert_eq!(longer["status"], "completed", "{longer}");
            let account = gateway.begun(&first).account;
            assert_eq!(gateway.begun(&next).account, account);
            accounts.insert(account);
            if accounts.len() == 2 && round >= 6 {
                return;
            }
        }
        panic!("one account made all videos: {accounts:?}");
    });
}

#[test]
fn a_kill_between_a_continuation_and_its_reply_costs_nothing_and_repeats_nothing() {
    run(async {
        let mut gateway = TestGateway::start().await;
        let first = gateway.finish(&text(json!({}))).await;
        let spent = gateway.process.account("acme").await["spent"].clone();
        let task = gateway.remix(id(&first), &remix(json!({"prompt": "[[submit-hang]]"}))).await.task_id();
        until("the provider has both", async || gateway.sandbox.veo_record().accepted >= 2).await;
        gateway.process.crash().await;
        gateway.caller = gateway.caller.at(gateway.process.public);
        let ended = gateway.caller.end_of(&task).await;
        assert!(ended["status"] == "failed" && ended["cost"] == 0.0, "{ended}");
        assert_eq!(gateway.sandbox.veo_record().accepted, 2);
        assert_eq!(gateway.process.account_without_holds("acme").await["spent"], spent);
        // The original is as good as before.
        let longer = gateway.finish_remix(id(&first), &remix(json!({}))).await;
        assert_eq!(film_of(&longer).await.milliseconds, 15_000);
        gateway.process.expect_sound_ledger().await;
    });
}
