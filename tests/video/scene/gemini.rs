//! The second dialect: the Gemini API, whose videos need its key.

use std::time::Duration;

use gatehouse_harness::run;
use gatehouse_sandbox::Settings;
use gatehouse_sandbox::veo::Dialect;
use serde_json::{Value, json};

use super::{id, text};
use crate::video::{FilmFacts, TestGateway, film_of, with};

/// A gateway whose `veo` is the Gemini API.
pub(super) async fn start() -> TestGateway {
    let settings = Settings { job_time: Duration::ZERO, ..Settings::default() };
    TestGateway::start_by(settings, |setup, sandbox| {
        let base = &sandbox.veo().gemini;
        setup.with(&format!(
            "[providers.veo]\nbase_url = \"{base}\"\nauth = {{ header = \"x-goog-api-key\" }}\n\n\
             [providers.veo.accounts.main]\nsecret = {{ file = \"SECRET\" }}\n\n\
             [plugins.settings.scene]\ndialect = \"gemini\"\n"
        ))
    })
    .await
}

#[test]
fn videos_are_made_fetched_and_continued() {
    run(async {
        let gateway = start().await;
        let image = gateway.sample("512x512.png");
        let fields = json!({"prompt": "first", "first_frame_image": image, "person_generation": "disallow", "seed": null});
        let first = gateway.finish(&text(fields)).await;
        let film = FilmFacts { width: 1280, height: 720, milliseconds: 8000, has_sound: true };
        assert_eq!(film_of(&first).await, film);
        let begun = gateway.begun("first");
        let parameters = json!({"aspectRatio": "16:9", "resolution": "720p", "durationSeconds": 8, "sampleCount": 1,
            "personGeneration": "dont_allow", "enhancePrompt": true});
        assert_eq!(
            (begun.dialect, &begun.body["parameters"], begun.downloads),
            (Dialect::Gemini, &parameters, 1)
        );
        let longer = json!({"model": "scene-3.1-fast", "prompt": "second"});
        let second = gateway.finish_remix(id(&first), &longer).await;
        assert_eq!(film_of(&second).await, FilmFacts { milliseconds: 15_000, ..film });
        let uri = &gateway.begun("second").body["instances"][0]["video"]["uri"];
        assert!(uri.as_str().is_some_and(|uri| uri.ends_with(":download?alt=media")), "{uri}");
        let raw = with(longer, json!({"prompt": "third", "raw": true}));
        assert_eq!(film_of(&gateway.finish_remix(id(&second), &raw).await).await.milliseconds, 7000);
        let rows: [(Value, &str); 4] = [
            (json!({"seed": 7}), "`seed`: expected nothing at this gateway"),
            (json!({"n": 2}), "`n`: expected 1 or nothing at this gateway"),
            (json!({"first_frame_image": image, "resize_mode": "crop"}), "`resize_mode`: expected `pad`"),
            (json!({"resolution": "1080p", "duration": 4}), "`duration`: expected 8 with `1080p`"),
        ];
        for (fields, words) in rows {
            gateway.expect_refusal(&text(fields), words).await;
        }
        assert_eq!(gateway.sandbox.veo_record().declined, []);
    });
}
