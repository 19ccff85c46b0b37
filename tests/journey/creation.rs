//! Imagine, blend, describe and edits: what is sent to the proxy, and the result.

use std::collections::BTreeSet;

use gatehouse_harness::{run, send_to};
use serde_json::{Value, json};

use crate::faults::none_broken;
use crate::journey::scene::{Scene, shortened, uri, with};

/// Text and flags of a prompt, the flags in no order.
fn parts(prompt: &str) -> (String, BTreeSet<String>) {
    let mut pieces = prompt.split(" --").map(|piece| piece.trim().to_owned());
    (pieces.next().unwrap_or_default(), pieces.collect())
}

async fn sent(scene: &Scene, body: &Value, expected: &str, mode: &str) -> Result<(), String> {
    scene.done("imagine", body).await;
    let made = scene.latest();
    if parts(&made.prompt) == parts(expected) && made.mode == mode {
        return Ok(());
    }
    Err(format!("  {}\n    sent: {:?} {}", shortened(body), made.prompt, made.mode))
}

#[test]
fn fields_become_flags_and_the_speed_a_path() {
    run(async {
        let scene = Scene::start().await;
        let body = |more: Value| with(json!({"prompt": "a red kite"}), &more);
        #[rustfmt::skip]
        let rows = [
            (body(json!({})), "a red kite", "RELAX"),
            (json!({"prompt": "a red kite --ar 16:9 --v 6.1"}), "a red kite --ar 16:9 --v 6.1", "RELAX"),
            (body(json!({"size": "16:9"})), "a red kite --ar 16:9", "RELAX"),
            (body(json!({"version": "8.2"})), "a red kite --v 8.2", "RELAX"),
            (body(json!({"version": "v8.1"})), "a red kite --v 8.1", "RELAX"),
            (body(json!({"version": 7})), "a red kite --v 7", "RELAX"),
            (body(json!({"version": "5.1"})), "a red kite --v 5.1", "RELAX"),
            (body(json!({"niji": true})), "a red kite --niji 7", "RELAX"),
            (body(json!({"niji": true, "version": "6"})), "a red kite --niji 6", "RELAX"),
            (body(json!({"quality": "0.5", "style": "raw", "stylize": 1000, "chaos": 0, "weird": 3000})),
                "a red kite --q 0.5 --style raw --s 1000 --c 0 --w 3000", "RELAX"),
            (body(json!({"seed": 4_294_967_295_u32, "negative_prompt": "wind, rain", "tile": true, "stop": 10})),
                "a red kite --seed 4294967295 --no wind, rain --tile --stop 10", "RELAX"),
            (body(json!({"iw": 1.5, "cw": 100, "sw": 1000, "dw": 100})), "a red kite --iw 1.5 --cw 100 --sw 1000 --dw 100", "RELAX"),
            (body(json!({"cref": "https://a.example/c.png", "sref": "https://a.example/s.png", "dref": "https://a.example/d.png"})),
                "a red kite --cref https://a.example/c.png --sref https://a.example/s.png --dref https://a.example/d.png", "RELAX"),
            (body(json!({"raw": true, "draft": true, "version": "7"})), "a red kite --v 7 --raw --draft", "RELAX"),
            (body(json!({"hd": true, "version": "8.1"})), "a red kite --v 8.1 --hd", "RELAX"),
            (body(json!({"extra": "--exp 10"})), "a red kite --exp 10", "RELAX"),
            (body(json!({"speed": "relax"})), "a red kite", "RELAX"),
            (body(json!({"speed": "fast"})), "a red kite", "FAST"),
            (body(json!({"speed": "turbo"})), "a red kite", "TURBO"),
            // A speed in the prompt is a speed of the path, so that the proxy works at the price that is charged.
            (json!({"prompt": "a red kite --fast"}), "a red kite", "FAST"),
            (json!({"prompt": "a red kite --turbo", "speed": "relax"}), "a red kite", "RELAX"),
            // The body goes before the prompt's flags, and those before metadata.
            (json!({"prompt": "a red kite --ar 1:1 --s 5 --c 7", "size": "3:2", "metadata": {"stylize": 50, "size": "9:16", "trace": "mine"}}),
                "a red kite --s 5 --c 7 --ar 3:2", "RELAX"),
            (body(json!({"metadata": {"stylize": 50, "weird": "x", "chaos": 101, "speed": "turbo"}})), "a red kite --s 50", "TURBO"),
            (body(json!({"metadata": "order 7"})), "a red kite", "RELAX"),
            (json!({"prompt": "a red kite --v 7 --ar 2:3", "version": "6.1"}), "a red kite --v 6.1 --ar 2:3", "RELAX"),
            // Fields nobody knows do nothing, and null is no value.
            (body(json!({"colour": "red", "seed": null, "n": 4, "model": "anything"})), "a red kite", "RELAX"),
        ];
        let mut broken = Vec::new();
        for (body, expected, mode) in &rows {
            broken.push(sent(&scene, body, expected, mode).await);
        }
        none_broken(broken);
        // The default route is imagine, too.
        let answer =
            scene.caller.post("/v1/journey/generations", &json!({"prompt": "by the short path"})).await;
        assert_eq!(scene.caller.end_of(&answer.task_id()).await["status"], "completed");
        assert_eq!(scene.made("by the short path").route, "imagine");
    });
}

#[test]
fn pictures_reach_the_proxy_as_they_are() {
    run(async {
        let scene = Scene::start().await;
        let link = scene.sample("64x48.png");
        let file = send_to(&link, &[]).await.body;
        let large = uri(700, 300, [25, 25, 230]);
        let blue = "25,25,230";
        let size = |record: &Value| (record["width"].clone(), record["height"].clone());
        let bare = large.split_once(',').expect("a data URI").1.to_owned();

        let images = json!([link, large, bare]);
        scene.done("imagine", &json!({"prompt": "like these", "image_urls": images})).await;
        let sent = scene.latest().body["base64Array"].clone();
        assert_eq!(
            (size(&sent[0]), size(&sent[1])),
            ((json!(64), json!(48)), (json!(700), json!(300))),
            "{blue}"
        );
        assert_eq!((&sent[0]["bytes"], &sent[1]), (&json!(file.len()), &sent[2]));
        scene.done("imagine", &json!({"prompt": "like this", "image_url": link})).await;
        assert_eq!(scene.latest().body["base64Array"].as_array().map(Vec::len), Some(1));

        for (more, dimensions, tile) in [
            (json!({}), "SQUARE", (512, 512)),
            (json!({"dimensions": "PORTRAIT"}), "PORTRAIT", (416, 624)),
            (json!({"dimensions": "landscape"}), "LANDSCAPE", (624, 416)),
            (json!({"dimensions": "PORTRAIT", "size": "3:2"}), "LANDSCAPE", (624, 416)),
            (json!({"size": "1:1"}), "SQUARE", (512, 512)),
        ] {
            let body = with(json!({"image_urls": [large, link, link, link]}), &more);
            scene.done("blend", &body).await;
            let made = scene.latest();
            assert_eq!((&made.body["dimensions"], made.size), (&json!(dimensions), tile), "{more}");
            assert_eq!(size(&made.body["base64Array"][0]), (json!(700), json!(300)), "in the client's order");
        }

        scene
            .done("edits", &json!({"prompt": "make it night", "image_urls": [large], "speed": "fast"}))
            .await;
        let made = scene.latest();
        assert_eq!(
            (made.route.as_str(), made.mode.as_str(), made.colours[0]),
            ("edits", "FAST", [25, 25, 230])
        );
        assert_eq!(made.prompt, "make it night");
    });
}

#[test]
fn a_picture_is_described_in_four_texts() {
    run(async {
        let scene = Scene::start().await;
        let body = json!({"image_urls": [uri(160, 90, [25, 25, 230]), "https://a.example/ignored.png"]});
        let task = scene.end("describe", &body).await;
        assert_eq!(task["status"], "completed", "{task}");
        let prompts = task["result"]["prompts"].as_array().expect("four texts");
        assert_eq!(prompts.len(), 4, "{task}");
        for prompt in prompts {
            let prompt = prompt.as_str().expect("text");
            assert!(prompt.contains("blue") && prompt.ends_with("--ar 16:9"), "{prompt}");
        }
        let text = task["result"]["text"].as_str().expect("all of it");
        assert!(prompts.iter().all(|prompt| text.contains(prompt.as_str().expect("text"))), "{text}");
        assert!(task["result"].get("images").is_none(), "{task}");
        let view = scene.view(task["id"].as_str().expect("an id")).await;
        assert_eq!((&view["action"], &view["prompt"]), (&json!("DESCRIBE"), &json!(text)));
        assert!(view.get("image_urls").is_none() && view.get("grid_image_url").is_none(), "{view}");
    });
}
