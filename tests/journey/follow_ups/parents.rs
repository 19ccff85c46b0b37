//! The parent of every follow-up: its kind, its state, its owner, its version, and the field that names it.

use gatehouse_harness::run;
use serde_json::{Value, json};

use crate::faults::none_broken;
use crate::journey::scene::{Scene, path, with};

/// Every route that follows up a completed task, with the other fields it needs.
fn routes() -> [(&'static str, Value); 11] {
    [
        ("upscale", json!({"index": 3})),
        ("variation", json!({"index": 2})),
        ("high-variation", json!({})),
        ("low-variation", json!({})),
        ("reroll", json!({})),
        ("zoom", json!({})),
        ("pan", json!({"direction": "left"})),
        ("inpaint", json!({})),
        ("video", json!({"index": 1})),
        ("remix-strong", json!({"index": 2})),
        ("remix-subtle", json!({"index": 1})),
    ]
}

#[test]
fn kinds_and_versions() {
    run(async {
        let scene = Scene::start().await;
        let parents = [
            ("grid v7", scene.grid("a kite --v 7").await),
            ("single v7", scene.single("a red kite --v 7", 1).await),
            ("grid v8.1", scene.grid("a kite --v 8.1").await),
            ("single v8.2", scene.single("a red kite --v 8.2", 1).await),
            ("texts", scene.done("describe", &json!({"image_urls": [scene.sample("64x64.png")]})).await),
            (
                "films",
                scene
                    .done("video", &json!({"image_urls": [scene.sample("64x64.png")], "prompt": "it flies"}))
                    .await,
            ),
        ];
        // In the order of the parents.
        #[rustfmt::skip]
        let allowed = [
            ("upscale",        [true,  false, true,  false, false, false]),
            ("variation",      [true,  false, true,  false, false, false]),
            ("high-variation", [false, true,  false, true,  false, false]),
            ("low-variation",  [false, true,  false, true,  false, false]),
            ("reroll",         [true,  false, true,  false, false, false]),
            ("zoom",           [false, true,  false, false, false, false]),
            ("pan",            [false, true,  false, false, false, false]),
            ("inpaint",        [false, true,  false, true,  false, false]),
            ("video",          [true,  true,  true,  true,  false, false]),
            ("remix-strong",   [false, false, true,  true,  false, false]),
            ("remix-subtle",   [false, false, true,  true,  false, false]),
        ];
        let mut broken = Vec::new();
        for ((route, more), (named, allowed)) in routes().into_iter().zip(allowed) {
            assert_eq!(route, named);
            for ((kind, parent), allowed) in parents.iter().zip(allowed) {
                let body = with(more.clone(), &json!({"task_id": parent}));
                if !allowed {
                    broken.push(
                        scene.refuses(route, &body, &["task_id"]).await.map_err(|it| format!("{kind}: {it}")),
                    );
                    continue;
                }
                let answer = scene.post(route, &body).await;
                if answer.status != 200 {
                    broken.push(Err(format!(
                        "  {kind}: {route}\n    came: {} {}",
                        answer.status,
                        answer.text()
                    )));
                    continue;
                }
                if route != "inpaint" {
                    let task = scene.caller.end_of(&answer.task_id()).await;
                    let ok = if task["status"] == "completed" {
                        Ok(())
                    } else {
                        Err(format!("  {kind}: {route}\n    {task}"))
                    };
                    broken.push(ok);
                }
            }
        }
        none_broken(broken);
    });
}

#[test]
fn states_and_owners() {
    run(async {
        let scene = Scene::start().await;
        let rival = scene.gateway.open_account("rival", "1000").await;
        let grid = scene.grid("a kite --v 7").await;
        let running = scene.submit("imagine", &json!({"prompt": "a kite [[never-ready]]"})).await;
        let failed = scene.end("imagine", &json!({"prompt": "a kite [[24]]"})).await["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        let other = scene
            .caller
            .post("/v1/images/generations", &json!({"model": "ctx-pro", "prompt": "a kite"}))
            .await;
        let other = scene.caller.end_of(&other.task_id()).await["id"].as_str().expect("an id").to_owned();
        let mut broken = Vec::new();
        for (route, more) in routes().into_iter().chain([("modal", json!({"prompt": "a door"}))]) {
            let body = |id: Value| with(more.clone(), &json!({"task_id": id}));
            for (id, words) in [(&running, "completed"), (&failed, "failed"), (&other, "journey")] {
                if route == "modal" {
                    let answer = scene.post(route, &body(json!(id))).await;
                    let known = [400, 404, 409].contains(&answer.status);
                    broken.push(if known {
                        Ok(())
                    } else {
                        Err(format!("  modal of {words}: {} {}", answer.status, answer.text()))
                    });
                } else {
                    broken.push(scene.refuses(route, &body(json!(id)), &["task_id", words]).await);
                }
            }
            if route != "video" {
                broken.push(missing(&scene, route, &more).await);
            }
            for wrong in [json!(5), json!({}), json!(true), json!(["x"]), json!([grid]), json!("")] {
                broken.push(scene.refuses(route, &body(wrong), &["task_id"]).await);
            }
            // Another customer's task is as unknown as one that never existed.
            let foreign = rival.post(&path(route), &body(json!(grid))).await;
            let unknown = scene.post(route, &body(json!("task_01ARZ3NDEKTSV4RRFFQ69G5FAV"))).await;
            for (answer, id) in [(&foreign, grid.as_str()), (&unknown, "task_01ARZ3NDEKTSV4RRFFQ69G5FAV")] {
                let error = &answer.json()["error"];
                let message = error["message"].as_str().unwrap_or_default().replace(id, "ID");
                if (answer.status, &error["type"], &error["code"]) != (404, &json!("not_found"), &json!(404))
                {
                    broken.push(Err(format!("  {route}: {} {error}", answer.status)));
                }
                let same = unknown.json()["error"]["message"]
                    .as_str()
                    .unwrap_or_default()
                    .replace("task_01ARZ3NDEKTSV4RRFFQ69G5FAV", "ID");
                broken.push(if message == same {
                    Ok(())
                } else {
                    Err(format!("  {route}: {message} / {same}"))
                });
            }
            for nonsense in [json!("nonsense"), json!("task_"), json!("1754200000000123")] {
                let answer = scene.post(route, &body(nonsense.clone())).await;
                let ok = [400, 404].contains(&answer.status);
                broken.push(if ok {
                    Ok(())
                } else {
                    Err(format!("  {route} {nonsense}: {}", answer.text()))
                });
            }
        }
        none_broken(broken);
        for id in [grid.as_str(), "task_01ARZ3NDEKTSV4RRFFQ69G5FAV", "nonsense"] {
            let answer = rival.get(&format!("/v1/journey/{id}")).await;
            assert_eq!(answer.refusal("type"), (404, json!("not_found")), "{id}");
        }
        assert_eq!(scene.sandbox.midjourney_record().accounts[0].submits, 2, "no follow-up was sent");
    });
}

async fn missing(scene: &Scene, route: &str, more: &Value) -> Result<(), String> {
    scene.refuses(route, more, &["task_id"]).await?;
    scene.refuses(route, &with(more.clone(), &json!({"task_id": null})), &["task_id"]).await
}
