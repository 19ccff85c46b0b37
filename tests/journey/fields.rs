//! Missing and wrong fields of every route, each a 400 that names the field; and the edge of each range.

use gatehouse_harness::{message_of, run};
use serde_json::{Value, json};

use crate::faults::expect_all;
use crate::journey::scene::{Scene, uri, with};

type Row<'a> = (&'a str, Value, &'a [&'a str]);

async fn check(scene: &Scene, rows: &[Row<'_>]) {
    let before = scene.sandbox.midjourney_record().accounts[0].submits;
    expect_all(rows.iter().map(|(route, body, words)| scene.refuses(route, body, words))).await;
    assert_eq!(scene.sandbox.midjourney_record().accounts[0].submits, before, "nothing was sent");
}

#[test]
fn of_imagine() {
    run(async {
        let scene = Scene::start().await;
        let body = |more: Value| with(json!({"prompt": "a red kite"}), &more);
        #[rustfmt::skip]
        let rows: Vec<Row<'_>> = vec![
            ("imagine", json!({}), &["prompt"]),
            ("imagine", json!({"prompt": null}), &["prompt"]),
            ("imagine", json!({"prompt": 5}), &["prompt", "string", "5"]),
            ("imagine", json!({"prompt": ""}), &["prompt"]),
            ("imagine", json!({"prompt": "  "}), &["prompt"]),
            ("imagine", json!({"prompt": "--ar 1:1"}), &["prompt"]),
            ("imagine", json!({"prompt": ["a kite"]}), &["prompt", "string"]),
            ("imagine", json!(["a kite"]), &["object"]),
            ("imagine", body(json!({"size": "16x9"})), &["size", "16x9"]),
            ("imagine", body(json!({"size": "0:9"})), &["size"]),
            ("imagine", body(json!({"size": 5})), &["size", "string"]),
            ("imagine", body(json!({"version": "9"})), &["version", "9", "8.2"]),
            ("imagine", body(json!({"version": true})), &["version"]),
            ("imagine", body(json!({"version": "8.1", "niji": true})), &["version", "niji"]),
            ("imagine", body(json!({"niji": "yes"})), &["niji", "true or false"]),
            ("imagine", body(json!({"quality": "3"})), &["quality", "0.25"]),
            ("imagine", body(json!({"style": "raw --v 4"})), &["style"]),
            ("imagine", body(json!({"stylize": -1})), &["stylize", "-1"]),
            ("imagine", body(json!({"stylize": 1001})), &["stylize", "1000", "1001"]),
            ("imagine", body(json!({"stylize": "100"})), &["stylize", "integer", "\"100\""]),
            ("imagine", body(json!({"stylize": 1.5})), &["stylize", "1.5"]),
            ("imagine", body(json!({"chaos": 101})), &["chaos", "100", "101"]),
            ("imagine", body(json!({"weird": 3001})), &["weird", "3000", "3001"]),
            ("imagine", body(json!({"seed": -1})), &["seed", "-1"]),
            ("imagine", body(json!({"seed": 4_294_967_296_u64})), &["seed", "4294967295"]),
            ("imagine", body(json!({"negative_prompt": "rain --v 4"})), &["negative_prompt"]),
            ("imagine", body(json!({"tile": "yes"})), &["tile", "true or false"]),
            ("imagine", body(json!({"iw": 3.1})), &["iw", "3"]),
            ("imagine", body(json!({"iw": -0.1})), &["iw"]),
            ("imagine", body(json!({"cw": 101})), &["cw", "100"]),
            ("imagine", body(json!({"sw": 1001})), &["sw", "1000"]),
            ("imagine", body(json!({"dw": 101})), &["dw", "100"]),
            ("imagine", body(json!({"cref": "a kite"})), &["cref", "URL"]),
            ("imagine", body(json!({"sref": "a kite"})), &["sref"]),
            ("imagine", body(json!({"dref": 5})), &["dref", "string"]),
            ("imagine", body(json!({"repeat": 2})), &["repeat"]),
            ("imagine", json!({"prompt": "a kite --repeat 4"}), &["prompt", "--repeat"]),
            ("imagine", json!({"prompt": "a kite --video 1 --bs 4"}), &["prompt"]),
            ("imagine", body(json!({"raw": 1})), &["raw", "true or false"]),
            ("imagine", body(json!({"draft": true, "version": "6.1"})), &["draft", "v6.1"]),
            ("imagine", body(json!({"hd": true, "version": "7"})), &["hd", "v7"]),
            ("imagine", body(json!({"stop": 9})), &["stop", "10", "9"]),
            ("imagine", body(json!({"stop": 101})), &["stop", "100", "101"]),
            ("imagine", body(json!({"speed": "slow"})), &["speed", "relax", "slow"]),
            ("imagine", body(json!({"image_urls": "x"})), &["image_urls", "array"]),
            ("imagine", body(json!({"image_urls": [5]})), &["image_urls[0]", "string"]),
            ("imagine", body(json!({"image_urls": ["ftp://a.example/b.png"]})), &["image_urls[0]"]),
            ("imagine", body(json!({"image_urls": [""]})), &["image_urls[0]"]),
            ("imagine", body(json!({"image_urls": vec!["https://a.example/b.png"; 11]})), &["image_urls", "10", "11"]),
        ];
        check(&scene, &rows).await;
    });
}

#[test]
fn of_blend_describe_and_edits() {
    run(async {
        let scene = Scene::start().await;
        let (one, two) = (uri(8, 8, [1, 2, 3]), uri(8, 8, [3, 2, 1]));
        let pair = |more: Value| with(json!({"image_urls": [one, two]}), &more);
        let edit = |more: Value| with(json!({"prompt": "at night", "image_urls": [one]}), &more);
        #[rustfmt::skip]
        let rows: Vec<Row<'_>> = vec![
            ("blend", json!({}), &["image_urls"]),
            ("blend", json!({"image_urls": []}), &["image_urls", "2"]),
            ("blend", json!({"image_urls": [one]}), &["image_urls", "2", "1"]),
            ("blend", json!({"image_urls": vec![one.clone(); 5]}), &["image_urls", "4", "5"]),
            ("blend", json!({"image_urls": [one, 5]}), &["image_urls[1]", "string"]),
            ("blend", json!({"image_urls": [one, "nonsense"]}), &["image_urls[1]"]),
            ("blend", pair(json!({"dimensions": "ROUND"})), &["dimensions", "SQUARE", "ROUND"]),
            ("blend", pair(json!({"dimensions": 1})), &["dimensions", "string"]),
            ("blend", pair(json!({"size": "wide"})), &["size", "wide"]),
            ("blend", pair(json!({"speed": "slow"})), &["speed", "slow"]),
            ("describe", json!({}), &["image_urls"]),
            ("describe", json!({"image_urls": []}), &["image_urls"]),
            ("describe", json!({"image_urls": {"url": one}}), &["image_urls", "array"]),
            ("describe", json!({"image_urls": [null]}), &["image_urls[0]"]),
            ("describe", json!({"image_urls": [one], "speed": 5}), &["speed"]),
            ("edits", json!({"image_urls": [one]}), &["prompt"]),
            ("edits", json!({"prompt": "at night"}), &["image_urls"]),
            ("edits", edit(json!({"prompt": ""})), &["prompt"]),
            ("edits", edit(json!({"image_urls": []})), &["image_urls"]),
            ("edits", edit(json!({"image_urls": [one, two]})), &["image_urls", "one", "imagine"]),
            ("edits", edit(json!({"chaos": 101})), &["chaos", "101"]),
        ];
        check(&scene, &rows).await;
    });
}

#[test]
fn pictures_that_nobody_can_use_fail_the_task() {
    run(async {
        let scene = Scene::start().await;
        let cut = uri(8, 8, [1, 2, 3]).chars().take(60).collect::<String>();
        for (url, words) in [
            (scene.sample("missing"), &["image_urls[0]", "404"][..]),
            (scene.sample("not-an-image"), &["image_urls[0]", "image"]),
            (scene.sample("redirect-to-private"), &["image_urls[0]"]),
            ("http://169.254.169.254/latest/meta-data".to_owned(), &["image_urls[0]"]),
            (cut, &[]),
        ] {
            for (route, body) in [
                ("describe", json!({"image_urls": [url]})),
                ("imagine", json!({"prompt": "like this", "image_urls": [url]})),
                ("video", json!({"image_urls": [url]})),
            ] {
                let answer = scene.post(route, &body).await;
                if words.is_empty() && answer.status == 400 {
                    continue;
                }
                let task = scene.caller.end_of(&answer.task_id()).await;
                let message = message_of(&task);
                assert_eq!((&task["status"], &task["cost"]), (&json!("failed"), &json!(0)), "{route} {task}");
                assert!(words.iter().all(|word| message.contains(word)), "{route} {url}: {message}");
            }
        }
        assert_eq!(scene.sandbox.midjourney_record().tasks.len(), 0, "nothing was sent");
        scene.gateway.expect_sound_ledger().await;
    });
}
