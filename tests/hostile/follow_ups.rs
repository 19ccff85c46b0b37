//! Requests that refer to tasks and names: follow-ups, requests that join a living task, interim and failed results,
//! and what another customer gets of all that.

use gatehouse_harness::{puppet_claiming, run, until_some, with};
use serde_json::{Value, json};

use crate::hostile::scene::gateway::{IMAGES, Scene};

const VIDEOS: &str = "/v1/videos/generations";

/// The fixture with a surface that names parents and assets, and one whose requests join their parent.
fn claims() -> Value {
    json!({
        "version": "1.1.0",
        "models": [{"id": "puppet-1", "aliases": ["puppet"], "surfaces": ["images.generate", "videos.generate"]}],
        "surfaces": [
            {"name": "images.generate", "schema": {"type": "object"}, "parent": {"field": "follows"}, "names": [{"scheme": "asset"}]},
            {"name": "videos.generate", "schema": {"type": "object"}, "parent": {"field": "joins"}, "joins": true},
        ],
        "routes": [{"method": "GET", "path": "/v1/puppet/{task_id}", "surface": "puppet.read", "does": "view"}],
    })
}

async fn start() -> Scene {
    let scene = Scene::start("").await;
    scene.install(&puppet_claiming(&claims())).await;
    scene
}

fn body(script: &Value, more: &Value) -> Value {
    with(json!({"model": "puppet-1", "prompt": "a red kite", "script": script}), more.clone())
}

/// A task that shows a view, waits for an hour, and ends once something happens, with an asset of its own.
fn waiting(name: &str) -> Value {
    json!({
        "submit": {"brief": "a long prompt"},
        "steps": [
            {"view": {"public": {"so": "far"}, "private": {"kept": 1}}, "wait": 3_600_000},
            {"done": {"public": {"seen": {"$seen": 0}}, "claims": [{"name": name, "private": {"remote": 7}}]}},
        ],
    })
}

#[test]
fn a_request_joins_a_living_task_and_pays_its_part() {
    run(async {
        let scene = start().await;
        let first = scene.submit(&waiting("asset://one")).await;
        let task = first.task_id();
        let path = format!("/v1/tasks/{task}");
        let interim = until_some("the task shows what it has", async || {
            let task = scene.caller.get(&path).await.json()["data"].clone();
            task.get("result").is_some().then_some(task)
        })
        .await;
        assert_eq!((&interim["result"], &interim["status"]), (&json!({"so": "far"}), &json!("submitted")));
        let view = scene.caller.get(&format!("/v1/puppet/{task}")).await.json();
        assert_eq!((&view["surface"], &view["public"]), (&json!("puppet.read"), &json!({"so": "far"})));
        assert_eq!((&view["private"], &view["same_task"]), (&json!({"kept": 1}), &json!(true)));

        let join = body(&json!({"submit": {"brief": "and more"}}), &json!({"joins": task}));
        let rival = scene.gateway.open_account("rival", "100").await;
        assert_eq!(rival.post(VIDEOS, &join).await.status, 404);
        let joined = scene.caller.post(VIDEOS, &join).await;
        assert_eq!((joined.status, joined.task_id()), (200, task.clone()));
        let over = scene.caller.end_of(&task).await;
        assert_eq!((&over["status"], &over["cost"]), (&json!("completed"), &json!(4)), "{over}");
        let seen = over["result"]["seen"].as_str().expect("what it saw");
        assert!(seen.contains("Start with a long prompt") && seen.contains("Joined with and more"), "{seen}");

        let late = scene.caller.post(VIDEOS, &join).await;
        assert_eq!(late.status, 409, "{}", late.json());
        assert!(late.json()["error"]["message"].as_str().unwrap().contains("has already ended: completed"));
        let lonely = scene.caller.post(VIDEOS, &body(&json!({}), &json!({}))).await;
        assert_eq!(lonely.status, 404, "{}", lonely.json());
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn tasks_and_names_are_their_customers_own() {
    run(async {
        let scene = start().await;
        let owner = scene.submit(&json!({"steps": [
            {"done": {"public": {"made": 1}, "claims": [{"name": "asset://one", "private": {"remote": 7}}]}},
        ]})).await.task_id();
        assert_eq!(scene.caller.end_of(&owner).await["status"], "completed");

        let follow = body(&json!({}), &json!({"follows": owner, "image": ["asset://one", "asset://none"]}));
        let seen_by = async |caller: &gatehouse_harness::Caller, body: &Value| {
            let task = caller.end_of(&caller.post(IMAGES, body).await.task_id()).await;
            task["result"]["seen"].as_str().expect("what it saw").to_owned()
        };
        let seen = seen_by(&scene.caller, &follow).await;
        assert!(seen.contains(&owner) && seen.contains(r#"{\"made\":1}"#), "{seen}");
        assert!(seen.contains(r#"name: "asset://one""#) && !seen.contains("asset://none"), "{seen}");

        let rival = scene.gateway.open_account("rival", "100").await;
        assert_eq!(rival.post(IMAGES, &follow).await.status, 404);
        let foreign = body(&json!({}), &json!({"image": "asset://one"}));
        assert!(seen_by(&rival, &foreign).await.contains("owned []"));
        let steal = json!({"steps": [{"done": {"claims": [{"name": "asset://one", "private": {}}]}}]});
        let thief = rival.end_of(&rival.post(IMAGES, &body(&steal, &json!({}))).await.task_id()).await;
        assert_eq!((&thief["status"], &thief["cost"]), (&json!("failed"), &json!(0)), "{thief}");
        assert!(!thief.to_string().contains("asset"), "{thief}");
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_failed_task_may_leave_a_result_and_costs_nothing() {
    run(async {
        let scene = start().await;
        let half = scene.finish(&json!({"steps": [{"fail": "half of it", "public": {"left": 1}}]})).await;
        assert_eq!((&half["status"], &half["cost"]), (&json!("failed"), &json!(0)));
        assert_eq!((&half["result"], &half["error"]["message"]), (&json!({"left": 1}), &json!("half of it")));
        let gone =
            scene.finish(&json!({"steps": [{"call": {"path": "/plain", "affinity": "no account"}}]})).await;
        assert!(gone["result"]["seen"].as_str().expect("what it saw").contains("Refused"), "{gone}");
        let outside = json!({"done": {"products": [{"source": "data:,", "tile": [2, 0, 2, 2]}]}});
        let outside = scene.finish(&json!({"steps": [outside]})).await;
        assert_eq!((&outside["status"], &outside["cost"]), (&json!("failed"), &json!(0)), "{outside}");
        let raw = json!({"call": {"path": "/raw", "mime": "text/plain", "raw": {"data": "plain words"}}});
        assert_eq!(scene.finish(&json!({"steps": [raw]})).await["status"], "completed");
        assert!(scene.trap.seen_at("/raw")[0].contains("content-type: text/plain"));
        scene.gateway.expect_sound_ledger().await;
    });
}
