//! Charges of several lines, prices of a thousand units, and settlements up to a limit that was accepted: what is held, what is
//! billed in the end, and what becomes of a version that asks for more.

use gatehouse_harness::{puppet_claiming, run, until};
use serde_json::{Value, json};

use crate::hostile::scene::gateway::Scene;

/// Of its keys, two are priced by more than one unit.
const PRICES: &str = "[prices]\n\"puppet-song\" = { credits = \"0.5\", per = 1000 }\n\
                      \"puppet-word\" = { credits = \"3\", per = 1000000 }\n\n";

fn song(quantity: u64) -> Value {
    json!({"keys": ["puppet-song", "puppet"], "quantity": quantity})
}

/// What a request is accepted for, what its end settles for, and what it is billed, in micro-credits.
fn rows() -> Vec<(Value, Value, i64, &'static str)> {
    let most = json!({"quantity": 5});
    vec![
        (json!({"lines": [{"quantity": 3}, song(1500)]}), json!(null), 6_750_000, ""),
        (json!({"lines": [song(1), {"keys": ["puppet-word", "puppet"]}]}), json!(null), 503, ""),
        (json!({"lines": [{"quantity": 3}, song(1500)]}), json!({"lines": [song(1001)]}), 500_500, ""),
        // A settlement is billed by the last key where no accepted line has its keys.
        (json!({}), json!({"keys": ["puppet@4k", "puppet"], "quantity": 1}), 2_000_000, ""),
        (json!({"at-most": most}), json!(null), 2_000_000, ""),
        (json!({"at-most": most}), json!({"quantity": 4}), 8_000_000, ""),
        (json!({"at-most": {"lines": [{"quantity": 1}, song(9000)]}}), json!(song(9000)), 4_500_000, ""),
        (json!({"at-most": most}), json!({"quantity": 6}), 10_000_000, "asked to bill more than was held"),
        (json!({}), json!({"keys": ["puppet.dear"], "quantity": 0}), 2_000_000, "asked to bill more"),
        // A limit below the charge changes nothing.
        (json!({"quantity": 2, "at-most": {"quantity": 1}}), json!(null), 4_000_000, ""),
    ]
}

fn script(submit: &Value, settle: &Value) -> Value {
    let done = if settle.is_null() { json!({}) } else { json!({"settle": settle}) };
    json!({"submit": submit, "steps": [{"done": done}]})
}

async fn spent(scene: &Scene) -> i64 {
    scene.gateway.account_without_holds("acme").await["spent"].as_i64().expect("micro-credits")
}

/// Without it the second line of a charge is free, a thousandth costs a whole unit, or a family bills above what was accepted.
#[test]
fn lines_and_limits_are_billed_by_the_prices_of_their_acceptance() {
    run(async {
        let mut scene = Scene::start(PRICES).await;
        for (submit, settle, cost, log) in rows() {
            let before = spent(&scene).await;
            let task = scene.finish(&script(&submit, &settle)).await;
            assert_eq!(task["status"], "completed", "{submit}: {task}");
            assert_eq!(spent(&scene).await - before, cost, "{submit} settled as {settle}: {task}");
            assert!(scene.gateway.log_text().contains(log), "{submit}: {log}");
        }
        let dry = json!({
            "model": "puppet-1", "prompt": "a", "dry_run": true,
            "script": script(&json!({"lines": [{"unit": "page"}, song(1500)], "at-most": {"quantity": 5}}), &json!(null)),
        });
        let priced = scene.caller.post("/v1/images/generations", &dry).await.json();
        let lines = &priced["data"]["charges"];
        assert_eq!(
            (&priced["data"]["sum"], &priced["data"]["at_most"]),
            (&json!(10), &json!(true)),
            "{priced}"
        );
        assert_eq!((&lines[0]["unit"], &lines[0]["sum"]), (&json!("page"), &json!(2)), "{priced}");
        let song = (&lines[1]["price_key"], &lines[1]["per"], &lines[1]["unit_price"], &lines[1]["sum"]);
        assert_eq!(song, (&json!("puppet-song"), &json!(1000), &json!(0.5), &json!(0.75)), "{priced}");

        // The limit and its prices outlive the process and a change of prices.
        let held = json!({"submit": {"at-most": {"lines": [{"quantity": 2}, {"keys": ["puppet-song", "puppet"], "quantity": 4000}]}},
            "steps": [{"wait": 1500}, {"done": {"settle": {"keys": ["puppet-song", "puppet"], "quantity": 3000}}}]});
        let id = scene.submit(&held).await.task_id();
        let shown = scene.gateway.operator().get(&format!("/admin/v1/tasks/{id}")).await.json();
        assert_eq!(
            (&shown["held_micro"], &shown["at_most"][1]["per"]),
            (&json!(6_000_000), &json!(1000)),
            "{shown}"
        );
        scene.gateway.kill().await;
        let dearer = scene.gateway.config().replace("credits = \"0.5\"", "credits = \"50\"");
        scene.gateway.set_config(&dearer);
        scene.gateway.restart().await;
        let task = scene.caller.at(scene.gateway.public).end_of(&id).await;
        assert!(task["status"] == "completed" && task["cost"] == 1.5, "{task}");
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it a fresh version that bills above the limits it names stays.
#[test]
fn a_canary_that_settles_above_its_own_limit_is_rolled_back() {
    run(async {
        let scene = Scene::start(PRICES).await;
        let units = json!({"version": "2.0.0", "units": {"puppet": "picture"}});
        scene.install(&puppet_claiming(&units)).await;
        let other = scene.submit(&script(&json!({"unit": "second"}), &json!(null))).await;
        assert_eq!(other.status, 200, "the standby knows no units: {}", other.json());
        let log = scene.gateway.log_text();
        assert!(
            log.contains("expected the unit \"picture\", which the manifest has for \"puppet\""),
            "{log}"
        );
        for _ in 0..5 {
            let greedy = script(&json!({"at-most": {"quantity": 3}}), &json!({"quantity": 4}));
            let task = scene.finish(&greedy).await;
            assert!(task["status"] == "completed" && task["cost"] == 6.0, "{task}");
        }
        until("it is rolled back", async || {
            let versions = scene.gateway.plugins().await;
            versions.iter().any(|one| one["version"] == "2.0.0" && one["state"] == "rolled_back")
        })
        .await;
        scene.gateway.expect_sound_ledger().await;
    });
}
