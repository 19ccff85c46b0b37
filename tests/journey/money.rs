//! Money: the price key of every action, version and speed as it is charged; inpaint and modal; the time limit.

use gatehouse_harness::{Caller, run, until};
use serde_json::{Value, json};

use crate::faults::expect_all;
use crate::journey::scene::{Scene, is_of, links, path, picture, shortened, uri, with};

/// A price for many keys, so that a cost names the key.
const PRICES: &[(&str, u32)] = &[
    ("journey", 1),
    ("journey@imagine", 2),
    ("journey@imagine-fast", 3),
    ("journey@imagine-turbo", 4),
    ("journey@imagine-v7", 5),
    ("journey@imagine-v7-fast", 6),
    ("journey@imagine-v8.2", 7),
    ("journey@imagine-niji6", 8),
    ("journey@imagine-niji7-turbo", 9),
    ("journey@blend", 10),
    ("journey@describe-fast", 11),
    ("journey@edits-v6.1", 12),
    ("journey@upscale-v7", 13),
    ("journey@upscale-turbo", 14),
    ("journey@variation-v7-turbo", 15),
    ("journey@high_variation", 16),
    ("journey@low_variation-v7", 17),
    ("journey@reroll-v7-fast", 18),
    ("journey@zoom-v7", 19),
    ("journey@pan", 20),
    ("journey@inpaint", 0),
    ("journey@modal", 21),
    ("journey@modal-v7-fast", 22),
    ("journey@video", 23),
    ("journey@video-720p", 24),
    ("journey@remix_strong-v8.1", 25),
    ("journey@remix_subtle-v8.1-turbo", 26),
];

fn prices() -> String {
    let rows: Vec<String> = PRICES.iter().map(|(key, price)| format!("\"{key}\" = \"{price}\"\n")).collect();
    format!("[prices]\n{}", rows.concat())
}

async fn costs(scene: &Scene, route: &str, body: &Value, expected: u32) -> Result<(), String> {
    let task = scene.end(route, body).await;
    if task["status"] == "completed" && task["cost"].as_f64() == Some(f64::from(expected)) {
        return Ok(());
    }
    Err(format!("  {route} {}: expected {expected}, came {task}", shortened(body)))
}

#[test]
fn keys_are_charged_from_most_to_least_specific() {
    run(async {
        let scene = Scene::with(|_| {}, &prices()).await;
        let frame = scene.sample("64x64.png");
        let grid = scene.grid("a kite --v 7").await;
        let up = scene.done("upscale", &json!({"task_id": grid, "index": 1})).await;
        let newer = scene.grid("a kite --v 8.1").await;
        let plain = scene.grid("a plain kite").await;
        let kite = |more: Value| with(json!({"prompt": "a kite"}), &more);
        let of = |task: &str, more: Value| with(json!({"task_id": task}), &more);
        #[rustfmt::skip]
        let rows = [
            ("imagine", kite(json!({})), 2),
            ("imagine", kite(json!({"speed": "relax"})), 2),
            ("imagine", kite(json!({"speed": "fast"})), 3),
            ("imagine", kite(json!({"prompt": "a kite --turbo"})), 4),
            ("imagine", kite(json!({"version": "7"})), 5),
            ("imagine", kite(json!({"prompt": "a kite --v 7"})), 5),
            ("imagine", kite(json!({"version": "v7", "speed": "fast"})), 6),
            ("imagine", kite(json!({"version": "7", "speed": "turbo"})), 5),
            ("imagine", kite(json!({"prompt": "a kite --v 7 --fast", "version": "8.2", "speed": "relax"})), 7),
            ("imagine", kite(json!({"version": "6", "niji": true, "speed": "fast"})), 8),
            ("imagine", kite(json!({"prompt": "a kite --niji 6"})), 8),
            ("imagine", kite(json!({"niji": true, "speed": "turbo"})), 9),
            ("imagine", kite(json!({"niji": true})), 2),
            ("imagine", kite(json!({"version": "5.1", "speed": "turbo"})), 4),
            ("imagine", kite(json!({"metadata": {"version": "7"}})), 5),
            ("blend", json!({"image_urls": [frame, frame], "speed": "fast"}), 10),
            ("describe", json!({"image_urls": [frame]}), 1),
            ("describe", json!({"image_urls": [frame], "speed": "fast"}), 11),
            ("edits", json!({"prompt": "at night", "image_urls": [frame]}), 1),
            ("edits", json!({"prompt": "at night --v 6.1", "image_urls": [frame], "speed": "turbo"}), 12),
            ("upscale", of(&grid, json!({"index": 2})), 13),
            ("upscale", of(&grid, json!({"index": 2, "speed": "turbo"})), 13),
            ("upscale", of(&plain, json!({"index": 2, "speed": "turbo"})), 14),
            ("upscale", of(&plain, json!({"index": 2})), 1),
            ("variation", of(&grid, json!({"index": 2, "speed": "turbo"})), 15),
            ("variation", of(&grid, json!({"index": 2})), 1),
            ("high-variation", of(&up, json!({"speed": "fast"})), 16),
            ("low-variation", of(&up, json!({})), 17),
            ("reroll", of(&grid, json!({"speed": "fast"})), 18),
            ("reroll", of(&grid, json!({"speed": "turbo"})), 1),
            ("zoom", of(&up, json!({"zoom_ratio": 1.5})), 19),
            ("pan", of(&up, json!({"direction": "up", "speed": "turbo"})), 20),
            ("video", json!({"image_urls": [frame]}), 23),
            ("video", json!({"image_urls": [frame], "batch_size": 4}), 92),
            ("video", json!({"image_urls": [frame], "video_type": "vid_1.1_i2v_720"}), 24),
            ("video", json!({"image_urls": [frame], "video_type": "vid_1.1_i2v_720", "batch_size": 2}), 48),
            ("video", json!({"image_urls": [frame], "end_url": frame, "video_type": "vid_1.1_i2v_start_end_720", "batch_size": 4}), 96),
            ("video", of(&up, json!({"batch_size": 2})), 46),
            ("remix-strong", of(&newer, json!({"index": 1, "speed": "fast"})), 25),
            ("remix-subtle", of(&newer, json!({"index": 1, "speed": "turbo"})), 26),
            ("remix-subtle", of(&newer, json!({"index": 1})), 1),
        ];
        let looks = rows.iter().map(|(route, body, expected)| costs(&scene, route, body, *expected));
        expect_all(looks).await;
        for (more, price) in
            [(json!({}), 21.0), (json!({"speed": "fast"}), 22.0), (json!({"speed": "turbo"}), 21.0)]
        {
            let waiting = scene.waiting(&up).await;
            scene.submit("modal", &with(json!({"task_id": waiting, "prompt": "a door"}), &more)).await;
            assert_eq!(scene.caller.end_of(&waiting).await["cost"].as_f64(), Some(price), "{more}");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn an_operator_needs_no_prices_of_their_own() {
    run(async {
        let scene = Scene::with(|_| {}, "[prices]\njourney = \"7\"\n").await;
        let up = scene.single("a kite --v 7 --fast", 1).await;
        let waiting = scene.waiting(&up).await;
        assert_eq!(scene.gateway.account("acme").await["reserved"], 0, "an inpaint holds nothing");
        scene.submit("modal", &json!({"task_id": waiting})).await;
        assert_eq!(scene.caller.end_of(&waiting).await["cost"], 7.0);
        assert_eq!(scene.gateway.account_without_holds("acme").await["spent"], 21_000_000);
    });
}

#[test]
fn an_inpaint_and_its_modal_have_one_id_and_one_charge() {
    run(async {
        let scene = Scene::start().await;
        let up = scene.single("a red kite --v 7", 2).await;
        let spent = async || scene.gateway.account_without_holds("acme").await["spent"].as_u64();
        let (colour, before) = (scene.latest().colours[0], spent().await);
        let waiting = scene.waiting(&up).await;
        let shown = scene.caller.task(&waiting).await;
        assert_eq!((&shown["status"], spent().await), (&json!("processing"), before), "{shown}");

        let area = uri(512, 512, [255, 255, 255]);
        let modal = json!({"task_id": waiting, "prompt": "a blue door", "mask_url": area, "speed": "turbo"});
        for _ in 0..2 {
            let answer = scene.caller.post_with(&[("idempotency-key", "once")], &path("modal"), &modal).await;
            assert_eq!(answer.task_id(), waiting, "{}", answer.text());
        }
        let task = scene.caller.end_of(&waiting).await;
        assert_eq!((&task["status"], &task["cost"]), (&json!("completed"), &json!(4)), "{task}");
        assert_eq!(spent().await, before.map(|before| before + 4_000_000));
        let made = scene.latest();
        assert_eq!((made.modals, made.mode.as_str(), made.prompt.as_str()), (1, "TURBO", "a blue door"));
        let sent = made.modal.expect("a modal");
        assert_eq!(
            (&sent["maskBase64"]["repainted"], &sent["maskBase64"]["width"]),
            (&json!(100), &json!(512))
        );
        let tiles = links(&task);
        assert_eq!(tiles.len(), 4);
        assert!(is_of(&picture(&tiles[0]).await, colour), "painted over the picture it is of");

        // What joins late, or without money, changes nothing.
        let late = scene.post("modal", &json!({"task_id": waiting, "prompt": "again"})).await;
        assert!([400, 409].contains(&late.status), "{} {}", late.status, late.text());
        assert_eq!(spent().await, before.map(|before| before + 4_000_000));
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Requests at once: the task takes one, and only that one is held and charged.
#[test]
fn of_many_modals_one_is_accepted_and_charged() {
    run(async {
        let scene = Scene::start().await;
        let up = scene.single("a red kite --v 7", 2).await;
        let spent = async || scene.gateway.account_without_holds("acme").await["spent"].as_u64();
        for area in [None, Some(uri(512, 512, [255, 255, 255]))] {
            let before = spent().await;
            let waiting = scene.waiting(&up).await;
            let modal = json!({"task_id": waiting, "prompt": "a blue door", "mask_url": area});
            let answers = futures_util::future::join_all((0..8).map(|_| scene.post("modal", &modal))).await;
            let accepted = answers.iter().filter(|answer| answer.status == 200).count();
            let told: Vec<String> =
                answers.iter().map(|answer| format!("{} {}", answer.status, answer.text())).collect();
            assert_eq!(accepted, 1, "{told:#?}");
            for answer in answers.iter().filter(|answer| answer.status != 200) {
                assert_eq!(answer.status, 400, "{told:#?}");
                let message = answer.json()["error"]["message"].to_string();
                assert!(message.contains("expected an inpaint task that waits in MODAL"), "{message}");
            }
            let task = scene.caller.end_of(&waiting).await;
            assert_eq!((&task["status"], &task["cost"]), (&json!("completed"), &json!(4)), "{task}");
            assert_eq!(spent().await, before.map(|before| before + 4_000_000));
            assert_eq!(scene.latest().modals, 1);
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_modal_that_cannot_be_paid_leaves_the_task_waiting() {
    run(async {
        let scene = Scene::start().await;
        let poor: Caller = scene.gateway.open_account("poor", "9").await;
        let send = async |route: &str, body: Value| poor.post(&path(route), &body).await;
        let grid = send("imagine", json!({"prompt": "a kite --v 7"})).await.task_id();
        poor.end_of(&grid).await;
        let up = send("upscale", json!({"task_id": grid, "index": 1})).await.task_id();
        poor.end_of(&up).await;
        let waiting = send("inpaint", json!({"task_id": up})).await.task_id();
        let view = format!("/v1/journey/{waiting}");
        let shown = async || poor.get(&view).await.json();
        until("it waits for words", async || shown().await["status"] == "MODAL").await;
        let short = send("modal", json!({"task_id": waiting, "prompt": "a door"})).await;
        assert_eq!(short.refusal("type"), (402, json!("payment_required")), "{}", short.text());
        scene.gateway.command(&["account", "deposit", "poor", "10"]).await;
        assert_eq!(send("modal", json!({"task_id": waiting, "prompt": "a door"})).await.status, 200);
        assert_eq!(poor.end_of(&waiting).await["status"], "completed");
        assert_eq!(scene.gateway.account_without_holds("poor").await["spent"], 12_000_000);
    });
}

#[test]
fn an_untouched_modal_times_out_and_costs_nothing() {
    run(async {
        let mut scene = Scene::start().await;
        let up = scene.single("a kite --v 7", 1).await;
        let before = scene.gateway.account_without_holds("acme").await["spent"].clone();
        // From now on a task has two seconds.
        scene.gateway.set_config(&(scene.gateway.config() + "\n[tasks]\ntime_limit_s = 2\n"));
        scene.gateway.terminate().await;
        scene.gateway.restart().await;
        scene.caller = scene.caller.at(scene.gateway.public);
        let id = scene.submit("inpaint", &json!({"task_id": up})).await;
        let task = scene.caller.end_of(&id).await;
        assert_eq!((&task["status"], &task["cost"]), (&json!("failed"), &json!(0)), "{task}");
        assert_eq!(task["error"]["message"], "Task timeout");
        let view = scene.view(&id).await;
        assert_eq!((&view["status"], &view["fail_reason"]), (&json!("FAILURE"), &json!("Task timeout")));
        assert_eq!(scene.gateway.account_without_holds("acme").await["spent"], before);
        let late = scene.post("modal", &json!({"task_id": id, "prompt": "a door"})).await;
        assert!([400, 409].contains(&late.status), "{} {}", late.status, late.text());
        scene.gateway.expect_sound_ledger().await;
    });
}

/// A client that lost the answer repeats the request: it gets the first receipt, although the task no longer waits.
#[test]
fn a_repeated_modal_gets_its_first_receipt_again() {
    run(async {
        let scene = Scene::start().await;
        let up = scene.single("a kite --v 7", 1).await;
        let waiting = scene.waiting(&up).await;
        let send = async |token: &str, prompt: &str| {
            let body = json!({"task_id": waiting, "prompt": prompt});
            scene.caller.post_with(&[("idempotency-key", token)], &path("modal"), &body).await
        };
        assert_eq!(send("one", "a door").await.task_id(), waiting);
        assert_eq!(scene.caller.end_of(&waiting).await["status"], "completed");
        assert_eq!(send("one", "a door").await.task_id(), waiting);
        let other = send("one", "a gate").await;
        assert_eq!(other.refusal("reason"), (422, json!("idempotency_conflict")));
        assert_eq!(send("two", "a door").await.status, 400, "another request comes too late");
        assert_eq!(scene.latest().modals, 1);
        assert_eq!(scene.gateway.account_without_holds("acme").await["spent"], 12_000_000);
    });
}
