//! Follow-ups: the button that is pressed, indexes, custom ids, and the fields of each route.

mod parents;

use gatehouse_harness::run;
use serde_json::json;

use crate::faults::none_broken;
use crate::journey::scene::{Scene, is_of, links, nearest, picture, with};

/// How the button began that made the latest task, its hash left out.
fn pressed(scene: &Scene) -> String {
    scene.latest().custom_id.expect("a button").split("::").take(4).collect::<Vec<_>>().join("::")
}

#[test]
fn each_route_presses_its_button() {
    run(async {
        let scene = Scene::start().await;
        let grid = scene.grid("a kite --v 7").await;
        let up = scene.done("upscale", &json!({"task_id": grid, "index": 2})).await;
        let newer = scene.grid("a kite --v 8.1").await;
        #[rustfmt::skip]
        let rows = [
            ("variation", &grid, json!({"index": 1}), "MJ::JOB::variation::1"),
            ("variation", &grid, json!({"index": 4, "speed": "turbo"}), "MJ::JOB::variation::4"),
            ("reroll", &grid, json!({}), "MJ::JOB::reroll::0"),
            ("high-variation", &up, json!({}), "MJ::JOB::high_variation::1"),
            ("high-variation", &up, json!({"index": 1}), "MJ::JOB::high_variation::1"),
            ("low-variation", &up, json!({"speed": "fast"}), "MJ::JOB::low_variation::1"),
            ("zoom", &up, json!({}), "MJ::Outpaint::50::1"),
            ("zoom", &up, json!({"zoom_ratio": 2}), "MJ::Outpaint::50::1"),
            ("zoom", &up, json!({"zoom_ratio": 1.99}), "MJ::Outpaint::75::1"),
            ("zoom", &up, json!({"zoom_ratio": 1.5, "index": 1}), "MJ::Outpaint::75::1"),
            ("pan", &up, json!({"direction": "left"}), "MJ::JOB::pan_left::1"),
            ("pan", &up, json!({"direction": "right"}), "MJ::JOB::pan_right::1"),
            ("pan", &up, json!({"direction": "up"}), "MJ::JOB::pan_up::1"),
            ("pan", &up, json!({"direction": "down"}), "MJ::JOB::pan_down::1"),
            ("remix-strong", &newer, json!({"index": 3}), "MJ::JOB::remix_strong::3"),
            ("remix-subtle", &newer, json!({"index": 1, "prompt": "a green kite --v 8.1"}), "MJ::JOB::remix_subtle::1"),
        ];
        for (route, parent, more, button) in rows {
            let body = with(more.clone(), &json!({"task_id": parent}));
            scene.done(route, &body).await;
            assert_eq!(pressed(&scene), button, "{route} {more}");
            let speed = more["speed"].as_str().unwrap_or("relax").to_uppercase();
            assert_eq!(scene.latest().mode, speed, "{route} {more}");
        }
        let remixed = scene.latest();
        assert_eq!(
            (remixed.modals, remixed.prompt.as_str()),
            (1, "a green kite --v 8.1"),
            "its own dialog is finished at once"
        );
        assert_eq!(remixed.body["enableRemix"], json!(true));
        assert!(
            scene.sandbox.midjourney_record().tasks.iter().all(|task| task.account == 0 && task.answered)
        );
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn an_index_is_the_tile_it_says() {
    run(async {
        let scene = Scene::start().await;
        let grid = scene.grid("a kite --v 7").await;
        let colours = scene.latest().colours;
        for index in 1..=4 {
            let task = scene.end("upscale", &json!({"task_id": grid, "index": index})).await;
            let only = links(&task);
            assert_eq!(only.len(), 1, "{task}");
            assert!(is_of(&picture(&only[0]).await, colours[index - 1]), "upscale {index}");
            scene.done("variation", &json!({"task_id": grid, "index": index})).await;
            assert_eq!(nearest(&colours, scene.latest().colours[3]), index - 1, "variation {index}");
        }
        let mut broken = Vec::new();
        for route in ["upscale", "variation", "remix-strong", "remix-subtle"] {
            for (index, words) in [
                (json!(0), &["index", "1 to 4", "0"][..]),
                (json!(5), &["index", "1 to 4", "5"]),
                (json!(-1), &["index", "-1"]),
                (json!("1"), &["index", "integer", "\"1\""]),
                (json!(1.5), &["index", "1.5"]),
                (json!(null), &["index"]),
            ] {
                broken.push(scene.refuses(route, &json!({"task_id": grid, "index": index}), words).await);
            }
        }
        none_broken(broken);
    });
}

#[test]
fn a_custom_id_is_one_of_the_parents_buttons() {
    run(async {
        let scene = Scene::start().await;
        let grid = scene.grid("a kite --v 7").await;
        let colours = scene.latest().colours;
        let other = scene.grid("another kite --v 7").await;
        let button = async |task: &str, prefix: &str| -> String {
            let view = scene.view(task).await;
            let buttons = view["buttons"].as_array().expect("buttons");
            let found = buttons
                .iter()
                .filter_map(|button| button["customId"].as_str())
                .find(|id| id.starts_with(prefix));
            found.unwrap_or_else(|| panic!("no {prefix}: {view}")).to_owned()
        };
        let third = button(&grid, "MJ::JOB::upsample::3").await;
        for (field, index) in [("custom_id", json!(null)), ("customId", json!(null)), ("custom_id", json!(1))]
        {
            let up = scene.done("upscale", &json!({"task_id": grid, field: third, "index": index})).await;
            assert_eq!(scene.latest().colours, [colours[2]], "{field} {index}: {up}");
        }
        let up = scene.done("upscale", &json!({"task_id": grid, "custom_id": third})).await;
        let large = button(&up, "MJ::JOB::upsample_v7_2x_subtle").await;
        scene.done("upscale", &json!({"task_id": up, "custom_id": large})).await;
        assert_eq!((scene.latest().size, scene.latest().colours), ((1024, 1024), vec![colours[2]]));
        let pan = button(&up, "MJ::JOB::pan_up").await;
        scene.done("pan", &json!({"task_id": up, "custom_id": pan})).await;
        let mut broken = Vec::new();
        for (route, parent, id) in [
            ("upscale", &grid, json!("MJ::JOB::upsample::3::0000")),
            ("upscale", &grid, json!(button(&other, "MJ::JOB::upsample::3").await)),
            ("upscale", &grid, json!(button(&grid, "MJ::JOB::variation::3").await)),
            ("variation", &grid, json!(third)),
            ("zoom", &up, json!(pan)),
            ("inpaint", &up, json!("")),
            ("reroll", &grid, json!(5)),
        ] {
            let body = json!({"task_id": parent, "custom_id": id, "index": 1});
            broken.push(scene.refuses(route, &body, &["custom_id"]).await);
        }
        none_broken(broken);
    });
}

#[test]
fn other_fields() {
    run(async {
        let scene = Scene::start().await;
        let up = scene.single("a kite --v 7", 1).await;
        let waiting = scene.waiting(&up).await;
        let mut broken = Vec::new();
        for (route, more, words) in [
            ("zoom", json!({"zoom_ratio": "2"}), &["zoom_ratio", "number"][..]),
            ("zoom", json!({"zoom_ratio": 0}), &["zoom_ratio"]),
            ("zoom", json!({"speed": "slow"}), &["speed", "slow"]),
            ("pan", json!({}), &["direction", "left"]),
            ("pan", json!({"direction": "north"}), &["direction", "left", "north"]),
            ("pan", json!({"direction": 1}), &["direction"]),
            ("inpaint", json!({"speed": 1}), &["speed"]),
            ("high-variation", json!({"index": 5}), &["index"]),
        ] {
            broken.push(scene.refuses(route, &with(more, &json!({"task_id": up})), words).await);
        }
        for (more, words) in [
            (json!({"prompt": 5}), &["prompt", "string"][..]),
            (json!({"mask_url": 5}), &["mask_url", "string"]),
            (json!({"mask_url": "nonsense"}), &["mask_url"]),
            (json!({"mask": "ftp://a.example/b.png"}), &["mask"]),
            (json!({"speed": "slow"}), &["speed", "slow"]),
        ] {
            broken.push(scene.refuses("modal", &with(more, &json!({"task_id": waiting})), words).await);
        }
        none_broken(broken);
        assert_eq!(
            scene.view(&waiting).await["status"],
            "MODAL",
            "a refused modal leaves the task as it was"
        );
    });
}
