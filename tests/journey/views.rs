//! `GET /v1/journey/{task_id}`: the body in every state, and which methods and ids it takes.

use gatehouse_harness::run;
use serde_json::{Value, json};

use crate::journey::scene::Scene;

/// The body with what differs from run to run replaced: links, times, the button's hash; buttons become their ids.
fn golden(mut view: Value, id: &str) -> Value {
    assert_eq!(view["id"], id);
    let body = view.as_object_mut().expect("an object");
    body.insert("id".to_owned(), json!("ID"));
    for time in ["created", "completed", "actual_time"] {
        if let Some(value) = body.get_mut(time) {
            assert!(value.is_u64(), "{time}: {value}");
            *value = json!("N");
        }
    }
    let link = |value: &mut Value| {
        assert!(
            value.as_str().is_some_and(|link| link.contains("/v1/media/m_") && link.contains("expires=")),
            "{value}"
        );
        *value = json!("LINK");
    };
    for name in ["grid_image_url", "video_url"] {
        body.get_mut(name).into_iter().for_each(link);
    }
    for name in ["image_urls", "video_urls"] {
        body.get_mut(name).into_iter().flat_map(|list| list.as_array_mut().expect("a list")).for_each(link);
    }
    for button in body.get_mut("buttons").and_then(Value::as_array_mut).expect("buttons") {
        let fields: Vec<&String> = button.as_object().expect("an object").keys().collect();
        assert_eq!(fields, ["customId", "emoji", "label", "style", "type"], "{button}");
        let short = button["customId"].as_str().expect("an id").split("::").take(4);
        let short: Vec<&str> = short.filter(|part| part.len() < 32).collect();
        *button = json!(short.join("::"));
    }
    view
}

#[test]
fn bodies_of_pictures() {
    run(async {
        let scene = Scene::start().await;
        let grid = scene.grid("a kite --v 7").await;
        let grid_buttons = [
            "MJ::JOB::upsample::1",
            "MJ::JOB::upsample::2",
            "MJ::JOB::upsample::3",
            "MJ::JOB::upsample::4",
            "MJ::JOB::reroll::0",
            "MJ::JOB::variation::1",
            "MJ::JOB::variation::2",
            "MJ::JOB::variation::3",
            "MJ::JOB::variation::4",
            "MJ::BOOKMARK",
        ];
        assert_eq!(
            golden(scene.view(&grid).await, &grid),
            json!({
                "id": "ID", "status": "SUCCESS", "action": "IMAGINE", "progress": "100%",
                "grid_image_url": "LINK", "image_urls": ["LINK", "LINK", "LINK", "LINK"], "buttons": grid_buttons,
                "prompt": "a kite --v 7", "description": "/imagine a kite --v 7",
                "created": "N", "completed": "N", "actual_time": "N", "cost": 4, "credits_cost": 4,
            })
        );
        let up = scene.done("upscale", &json!({"task_id": grid, "index": 2})).await;
        let single = golden(scene.view(&up).await, &up);
        assert_eq!((&single["action"], &single["image_urls"]), (&json!("UPSCALE"), &json!(["LINK"])));
        assert!(single.get("grid_image_url").is_none() && single["prompt"] == "a kite --v 7", "{single}");
        let ids = single["buttons"].as_array().expect("buttons");
        for id in
            ["MJ::Inpaint::1", "MJ::Outpaint::50::1", "MJ::JOB::pan_left::1", "MJ::JOB::high_variation::1"]
        {
            assert!(ids.contains(&json!(id)), "{id}: {single}");
        }
        // The names of the others: the gateway's own, whatever the proxy calls them.
        for (route, more, action) in [
            ("variation", json!({"task_id": grid, "index": 1}), "VARIATION"),
            ("reroll", json!({"task_id": grid}), "REROLL"),
            ("high-variation", json!({"task_id": up}), "HIGH_VARIATION"),
            ("low-variation", json!({"task_id": up}), "LOW_VARIATION"),
            ("zoom", json!({"task_id": up}), "ZOOM"),
            ("pan", json!({"task_id": up, "direction": "up"}), "PAN"),
        ] {
            let id = scene.done(route, &more).await;
            let view = golden(scene.view(&id).await, &id);
            assert_eq!((&view["action"], &view["status"]), (&json!(action), &json!("SUCCESS")), "{view}");
            assert_eq!(view["image_urls"].as_array().map(Vec::len), Some(4), "{view}");
        }
    });
}

#[test]
fn bodies_of_other_states() {
    run(async {
        let scene = Scene::start().await;
        let running = scene.submit("imagine", &json!({"prompt": "a kite [[never-ready]]"})).await;
        scene.until_status(&running, "IN_PROGRESS").await;
        let view = golden(scene.view(&running).await, &running);
        assert_eq!(
            view,
            json!({
                "id": "ID", "status": "IN_PROGRESS", "action": "IMAGINE", "progress": "35%", "buttons": [],
                "prompt": "a kite [[never-ready]]", "created": "N",
            })
        );
        assert_eq!(scene.caller.task(&running).await["status"], "processing");

        let failed = scene.end("imagine", &json!({"prompt": "a kite [[banned-word]]"})).await;
        let id = failed["id"].as_str().expect("an id");
        let view = golden(scene.view(id).await, id);
        assert_eq!(
            (&view["status"], &view["fail_reason"]),
            (&json!("FAILURE"), &json!("Banned prompt detected"))
        );
        assert_eq!(
            (&view["cost"], &view["buttons"], &view["action"]),
            (&json!(0), &json!([]), &json!("IMAGINE"))
        );
        assert!(view.get("image_urls").is_none(), "{view}");

        let up = scene.single("a red kite --v 7", 1).await;
        let waiting = scene.waiting(&up).await;
        let view = golden(scene.view(&waiting).await, &waiting);
        assert_eq!(
            view,
            json!({
                "id": "ID", "status": "MODAL", "action": "INPAINT", "progress": view["progress"], "buttons": [],
                "prompt": "a red kite --v 7", "created": "N",
            })
        );
        let film = scene.done("video", &json!({"task_id": up, "batch_size": 2, "prompt": "it flies"})).await;
        let view = golden(scene.view(&film).await, &film);
        assert_eq!((&view["video_url"], &view["video_urls"]), (&json!("LINK"), &json!(["LINK", "LINK"])));
        assert!(view.get("image_urls").is_none() && view["prompt"] == "it flies", "{view}");
    });
}

#[test]
fn progress_and_states_only_move_forward() {
    run(async {
        let scene = Scene::start().await;
        let id = scene
            .submit("imagine", &json!({"prompt": "a kite [[slow:600]] [[odd-progress]] [[poll-500:2]]"}))
            .await;
        let order = ["NOT_START", "SUBMITTED", "IN_PROGRESS", "SUCCESS"];
        let (mut rank, mut done) = (0, 0);
        while rank < 3 {
            let view = scene.view(&id).await;
            let now =
                order.iter().position(|status| view["status"] == *status).unwrap_or_else(|| panic!("{view}"));
            let percent: u32 = view["progress"]
                .as_str()
                .and_then(|it| it.strip_suffix('%'))
                .expect("%")
                .parse()
                .expect("a number");
            assert!(now >= rank && percent >= done, "{view} after {} at {done}", order[rank]);
            (rank, done) = (now, percent);
        }
        assert_eq!(done, 100);
    });
}

#[test]
fn tasks_of_other_families_and_other_methods() {
    run(async {
        let scene = Scene::start().await;
        let answer = scene
            .caller
            .post("/v1/images/generations", &json!({"model": "ctx-pro", "prompt": "a kite"}))
            .await;
        let other = answer.task_id();
        for id in [other.as_str(), "task_01ARZ3NDEKTSV4RRFFQ69G5FAV", "nonsense"] {
            let answer = scene.caller.get(&format!("/v1/journey/{id}")).await;
            let error = &answer.json()["error"];
            assert_eq!(
                (answer.status, &error["type"], &error["code"]),
                (404, &json!("not_found"), &json!(404)),
                "{id}"
            );
        }
        let grid = scene.grid("a kite").await;
        let wrong = scene.caller.send("DELETE", &format!("/v1/journey/{grid}"), &[], "").await;
        assert_eq!(wrong.status, 405);
        let unknown = scene.post("shout", &json!({"prompt": "a kite"})).await;
        assert_eq!(unknown.refusal("type"), (404, json!("not_found")));
    });
}
