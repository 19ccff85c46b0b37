//! `dry_run: true` on every surface: the price and the errors of the real request, and nothing else happens.

use std::time::Duration;

use gatehouse_harness::{pause, run, with};
use serde_json::{Value, json};

use crate::public::Scene;

/// The path of a journey route.
fn journey(route: &str) -> String {
    format!("/v1/journey/generations/{route}")
}

/// One accepted request for every surface, with the model and the sum that a dry run answers; `None`: any sum.
async fn rows(scene: &Scene) -> Vec<(String, Value, &'static str, Option<f64>)> {
    let picture = scene.sample("640x480.png");
    let grid = scene.done(&journey("imagine"), &json!({"prompt": "a kite --v 8.1"})).await;
    // Version 8 offers remixes, version 7 zoom and pan.
    let older = scene.done(&journey("imagine"), &json!({"prompt": "a kite --v 7"})).await;
    let single = scene.done(&journey("upscale"), &json!({"task_id": older, "index": 1})).await;
    let waiting = scene.caller.post(&journey("inpaint"), &json!({"task_id": single})).await.task_id();
    loop {
        let view = scene.caller.get(&format!("/v1/journey/{waiting}")).await.json();
        if view["status"] == "MODAL" {
            break;
        }
        assert!(!["SUCCESS", "FAILURE"].contains(&view["status"].as_str().unwrap_or_default()), "{view}");
        pause().await;
    }
    let scene_model = "scene-3.1-fast-official";
    let film = scene.done("/v1/videos/generations", &json!({"model": scene_model, "prompt": "a kite"})).await;
    let (images, videos) = ("/v1/images/generations", "/v1/videos/generations");
    let text =
        json!({"model": "over-chat", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]});
    let follow = |route: &str, more: Value| (journey(route), with(json!({"task_id": grid}), more));
    let of_single = |route: &str, more: Value| (journey(route), with(json!({"task_id": single}), more));
    let mut rows = vec![
        (
            images.to_owned(),
            json!({"model": "ctx-max", "prompt": "a kite", "image_urls": [picture]}),
            "ctx-max",
            Some(8.0),
        ),
        (images.to_owned(), json!({"prompt": "a kite", "n": 3}), "imagine-1.5-gw", Some(6.0)),
        (videos.to_owned(), json!({"model": "motion-2.7", "prompt": "a kite"}), "motion-2.7", None),
        (
            videos.to_owned(),
            json!({"model": "clip-2.0-mini", "prompt": "a kite", "duration": 5}),
            "clip-2.0-mini",
            Some(20.0),
        ),
        (videos.to_owned(), json!({"model": scene_model, "prompt": "a kite"}), scene_model, None),
        (
            format!("/v1/videos/{film}/remix"),
            json!({"model": "scene-3.1-fast", "prompt": "it lands"}),
            scene_model,
            None,
        ),
        (
            "/v1/clip2/private-avatar".to_owned(),
            json!({"url": picture, "name": "face"}),
            "clip-2.0",
            Some(0.0),
        ),
        ("/v1/chat/completions".to_owned(), text.clone(), "over-chat", None),
        ("/v1/messages".to_owned(), with(text, json!({"model": "over-messages"})), "over-messages", None),
        (
            "/v1/responses".to_owned(),
            json!({"model": "over-chat", "input": "hi", "stream": true}),
            "over-chat",
            None,
        ),
        ("/v1/embeddings".to_owned(), json!({"model": "over-vectors", "input": "hi"}), "over-vectors", None),
    ];
    let journeys = [
        ("/v1/journey/generations".to_owned(), json!({"prompt": "a kite"})),
        (journey("imagine"), json!({"prompt": "a kite"})),
        (journey("blend"), json!({"image_urls": [picture, picture]})),
        (journey("describe"), json!({"image_urls": [picture]})),
        (journey("edits"), json!({"prompt": "night", "image_urls": [picture]})),
        (journey("video"), json!({"image_urls": [picture]})),
        follow("upscale", json!({"index": 2})),
        follow("variation", json!({"index": 2})),
        follow("reroll", json!({})),
        of_single("high-variation", json!({})),
        of_single("low-variation", json!({})),
        of_single("zoom", json!({})),
        of_single("pan", json!({"direction": "left"})),
        of_single("inpaint", json!({})),
        follow("remix-strong", json!({"index": 1})),
        follow("remix-subtle", json!({"index": 1})),
        (journey("modal"), json!({"task_id": waiting, "prompt": "a hat"})),
    ];
    rows.extend(journeys.map(|(path, body)| (path, body, "journey", None)));
    rows
}

#[test]
fn a_dry_run_of_every_surface_prices_it_and_changes_nothing() {
    run(async {
        let scene = Scene::start(Duration::ZERO).await;
        let rows = rows(&scene).await;
        let (calls, kept) = (scene.calls(), scene.kept().await);
        for (path, body, model, sum) in &rows {
            let answer = scene.caller.post(path, &with(body.clone(), json!({"dry_run": true}))).await;
            let whole = answer.json();
            let found = if whole["data"].is_object() { &whole["data"] } else { &whole };
            assert_eq!((answer.status, &found["dry_run"]), (200, &json!(true)), "{path} {body}: {whole}");
            assert_eq!(found["model"], *model, "{path}");
            let charge = &found["charges"][0];
            assert!(
                charge["price_keys"].as_array().is_some_and(|keys| keys.contains(&charge["price_key"])),
                "{whole}"
            );
            assert!(found["sum"].as_f64().is_some_and(|sum| sum >= 0.0), "{whole}");
            if let Some(sum) = sum {
                assert_eq!(found["sum"].as_f64(), Some(*sum), "{path} {body}");
            }
            assert!(found["failure"].is_null(), "{path}: {whole}");
        }
        assert_eq!(scene.calls(), calls, "no provider was asked for anything");
        assert_eq!(scene.kept().await, kept, "no money, no task and no file has moved");
        scene.gateway.expect_sound_ledger().await;

        // The real one costs what the dry run said, and no provider sees the field.
        let body = json!({"prompt": "a kite", "n": 2, "dry_run": false});
        let task = scene.caller.finish("/v1/images/generations", &body).await;
        assert_eq!(task["cost"], 4, "{task}");
        let sent = &scene.sandbox.imagine_record().calls;
        assert!(!format!("{sent:?}").contains("dry_run"));
        let text =
            json!({"model": "over-chat", "dry_run": false, "messages": [{"role": "user", "content": "hi"}]});
        assert_eq!(scene.caller.post("/v1/chat/completions", &text).await.status, 200);
        assert!(!format!("{:?}", scene.sandbox.chat_record().requests).contains("dry_run"));
    });
}

#[test]
fn a_dry_run_has_the_errors_of_the_request() {
    run(async {
        let scene = Scene::start(Duration::ZERO).await;
        let poor = scene.gateway.open_account("poor", "1").await;
        let narrow = scene.gateway.make_key("acme", &["--unlimited", "--model", "ctx-pro"]).await;
        let spent = scene.gateway.make_key("acme", &["--quota", "1"]).await;
        let images = "/v1/images/generations";
        let kite = |model: &str| json!({"model": model, "prompt": "a kite"});
        let unknown = "task_000000000000000000000SG000";
        for (caller, path, body, status, words) in [
            (&poor, images, kite("ctx-max"), 402, "insufficient balance"),
            (&spent, images, kite("ctx-max"), 402, "key quota exceeded"),
            (&narrow, images, kite("ctx-max"), 403, "may not use model"),
            (&scene.caller, images, kite("ctx-none"), 400, "unknown model"),
            (&scene.caller, images, json!({"model": "imagine-1.5-gw", "prompt": "x", "n": 0}), 400, "`n`"),
            (
                &scene.caller,
                "/v1/journey/generations/upscale",
                json!({"task_id": unknown, "index": 1}),
                404,
                unknown,
            ),
            (
                &scene.caller,
                "/v1/videos/generations",
                json!({"model": "motion-2.7", "duration": 99}),
                400,
                "duration",
            ),
            (
                &poor,
                "/v1/messages",
                json!({"model": "over-messages", "max_tokens": 9_000_000, "messages": [{"role": "user", "content": "x"}]}),
                402,
                "insufficient",
            ),
            (
                &scene.caller,
                "/v1/chat/completions",
                json!({"model": "none", "messages": [{"role": "user", "content": "x"}]}),
                404,
                "unknown model",
            ),
        ] {
            let dry = caller.post(path, &with(body.clone(), json!({"dry_run": true}))).await;
            assert!(dry.status == status && dry.message().contains(words), "{path} {body}: {}", dry.text());
            let real = caller.post(path, &body).await;
            assert_eq!(
                (real.status, without_id(&real.message())),
                (status, without_id(&dry.message())),
                "{path} {body}"
            );
        }
        // A key that was used for another request.
        let send = async |body: &Value| {
            let headers = [("content-type", "application/json"), ("idempotency-key", "one")];
            scene.caller.send("POST", images, &headers, body.to_string()).await.status
        };
        assert_eq!(send(&kite("ctx-pro")).await, 200);
        assert_eq!(send(&with(kite("ctx-pro"), json!({"dry_run": true}))).await, 200);
        assert_eq!(send(&with(kite("ctx-max"), json!({"dry_run": true}))).await, 422);
    });
}

/// A message without the request's own id.
fn without_id(message: &str) -> String {
    message.split(" (request id: ").next().unwrap_or_default().to_owned()
}

#[test]
fn a_dry_run_looks_at_the_sources() {
    run(async {
        let scene = Scene::start(Duration::ZERO).await;
        let kept = scene.kept().await;
        let clip = |source: String| json!({"model": "clip-2.0", "prompt": "x", "dry_run": true, "video_urls": [source], "resolution": "720p"});
        let found = scene.caller.post("/v1/videos/generations", &clip(scene.sample("none.mp4"))).await.json();
        let failure = &found["data"]["failure"];
        assert_eq!(failure["code"], "task_failed", "{found}");
        assert!(failure["message"].as_str().is_some_and(|text| text.contains("video_urls")), "{found}");
        assert_eq!(scene.kept().await, kept, "what was fetched is gone");
        assert_eq!(scene.calls()["ark"], json!([0, 0, 0, 0]));
    });
}
