//! Films: the first frame, the fields, the results.

use gatehouse_harness::{run, send_to};
use serde_json::{Value, json};

use crate::faults::none_broken;
use crate::journey::scene::{Scene, links, nearest, uri, with};

#[test]
fn the_first_frame_is_the_clients_picture_or_a_tile() {
    run(async {
        let scene = Scene::start().await;
        let grid = scene.grid("a kite over hills --v 7 --ar 16:9").await;
        let colours = scene.latest().colours;
        for index in 0..4 {
            let task = scene.end("video", &json!({"task_id": grid, "index": index})).await;
            assert_eq!(task["status"], "completed", "{task}");
            let made = scene.latest();
            assert_eq!(nearest(&colours, made.colours[0]), index, "index {index} counts from 0");
            assert_eq!(
                (&made.body["image"]["width"], &made.body["image"]["height"]),
                (&json!(680), &json!(384))
            );
            assert_eq!(made.prompt, "a kite over hills", "the parent's, without the flags of a picture");
        }
        let up = scene.done("upscale", &json!({"task_id": grid, "index": 4})).await;
        for more in [json!({}), json!({"index": 0}), json!({"prompt": "it dives"})] {
            scene.done("video", &with(json!({"task_id": up}), &more)).await;
            assert_eq!(nearest(&colours, scene.latest().colours[0]), 3, "{more}");
        }
        assert_eq!(scene.latest().prompt, "it dives");
        let own = scene
            .end("video", &json!({"image_urls": [uri(320, 200, [25, 230, 25])], "prompt": "it grows"}))
            .await;
        assert_eq!((&own["status"], scene.latest().colours[0]), (&json!("completed"), [25, 230, 25]));
    });
}

#[test]
fn fields_are_always_sent_and_every_film_is_a_link() {
    run(async {
        let scene = Scene::start().await;
        let frame = scene.sample("160x90.png");
        #[rustfmt::skip]
        let rows = [
            (json!({}), ("vid_1.1_i2v_480", "high", 1)),
            (json!({"batch_size": 2}), ("vid_1.1_i2v_480", "high", 2)),
            (json!({"batch_size": 4, "motion": "low"}), ("vid_1.1_i2v_480", "low", 4)),
            (json!({"batch_size": 3}), ("vid_1.1_i2v_480", "high", 1)),
            (json!({"video_type": "vid_1.1_i2v_720"}), ("vid_1.1_i2v_720", "high", 1)),
            (json!({"video_type": "vid_1.1_i2v_start_end_480", "end_url": frame}), ("vid_1.1_i2v_480", "high", 1)),
            (json!({"video_type": "vid_1.1_i2v_start_end_720", "end_url": frame}), ("vid_1.1_i2v_720", "high", 1)),
            (json!({"end_url": frame}), ("vid_1.1_i2v_480", "high", 1)),
        ];
        for (more, (video_type, motion, count)) in rows {
            let body = with(json!({"image_urls": [frame], "prompt": "it flies"}), &more);
            let task = scene.end("video", &body).await;
            let made = scene.latest();
            let sent = [&made.body["videoType"], &made.body["motion"], &made.body["batchSize"]];
            assert_eq!(sent, [&json!(video_type), &json!(motion), &json!(count)], "{more}");
            assert_eq!(made.body["endImage"].is_object(), more.get("end_url").is_some(), "{more}");
            assert!(made.body.get("taskId").is_none(), "the proxy takes a task for an extension only");
            let films = links(&task);
            assert_eq!(films.len(), count, "{task}");
            for film in &films {
                let file = send_to(film, &[]).await;
                assert_eq!((file.status, file.header("content-type")), (200, "video/mp4"));
                assert_eq!(&file.body[4..8], b"ftyp", "an mp4");
            }
            let view = scene.view(task["id"].as_str().expect("an id")).await;
            assert_eq!(view["video_urls"].as_array().map(Vec::len), Some(count), "{view}");
            assert!(view["video_url"].is_string() && view["action"] == "VIDEO", "{view}");
        }
        let grid = scene.grid("a kite --v 7").await;
        scene.done("video", &json!({"task_id": grid, "index": 1, "animate_mode": "auto"})).await;
        assert_eq!(
            scene.latest().prompt,
            "natural motion",
            "auto leaves the prompt out, which may not be blank"
        );
    });
}

#[test]
fn wrong_fields() {
    run(async {
        let scene = Scene::start().await;
        let grid = scene.grid("a kite --v 7").await;
        let frame = scene.sample("160x90.png");
        let of_frame = |more: Value| with(json!({"image_urls": [frame]}), &more);
        let of_grid = |more: Value| with(json!({"task_id": grid}), &more);
        #[rustfmt::skip]
        let rows = [
            (json!({}), &["image_urls"][..]),
            (json!({"prompt": "it flies"}), &["image_urls"]),
            (json!({"image_urls": []}), &["image_urls"]),
            (json!({"image_urls": [5]}), &["image_urls[0]", "string"]),
            (of_frame(json!({"prompt": 5})), &["prompt", "string"]),
            (of_frame(json!({"motion": "medium"})), &["motion", "low", "medium"]),
            (of_frame(json!({"video_type": "vid_2"})), &["video_type", "vid_2"]),
            (of_frame(json!({"batch_size": "4"})), &["batch_size", "integer", "\"4\""]),
            (of_frame(json!({"end_url": 5})), &["end_url", "string"]),
            (of_frame(json!({"video_type": "vid_1.1_i2v_start_end_480"})), &["end_url"]),
            (of_frame(json!({"animate_mode": "auto"})), &["task_id"]),
            (of_grid(json!({})), &["index", "0 to 3"]),
            (of_grid(json!({"index": 4})), &["index", "0 to 3", "from 0", "4"]),
            (of_grid(json!({"index": -1})), &["index", "-1"]),
            (of_grid(json!({"index": "0"})), &["index", "integer"]),
            (of_grid(json!({"index": 1, "animate_mode": "manuel"})), &["animate_mode", "manuel"]),
        ];
        let mut broken = Vec::new();
        for (body, words) in rows {
            broken.push(scene.refuses("video", &body, words).await);
        }
        none_broken(broken);
    });
}
