//! Avatar assets through the whole gateway: submission, review, groups, owners and accounts, and their use in a video.

use futures_util::future::join_all;
use gatehouse_harness::{Caller, message_of, run, until};
use gatehouse_sandbox::Settings;
use serde_json::{Value, json};

use crate::faults::{expect_all, verdict};
use crate::video::clip::{configure_videos, key_file, seen};
use crate::video::{TestGateway, at_once, expect_refused, film_of, with};

const PATH: &str = "/v1/clip2/private-avatar";

/// Submits, expects the receipt of assets, and waits for the end.
async fn finish(caller: &Caller, body: &Value) -> Value {
    let id = accepted(caller, body).await;
    caller.end_of(&id).await
}

/// Submits and checks the receipt; the task's id.
async fn accepted(caller: &Caller, body: &Value) -> String {
    let answer = caller.post(PATH, body).await;
    let receipt = answer.json();
    assert_eq!((answer.status, &receipt["code"]), (200, &json!(200)), "{body}: {receipt}");
    let data = &receipt["data"];
    assert_eq!(data["object"], "clip.avatar.asset.task");
    assert_eq!((&data["status"], &data["progress"]), (&json!("processing"), &json!(10)));
    assert_eq!(data["model"], "clip-2.0");
    data["id"].as_str().expect("an id").to_owned()
}

fn one(gateway: &TestGateway, name: &str) -> Value {
    json!({"url": gateway.sample("800x600.png"), "name": name})
}

async fn refused(caller: &Caller, path: &str, body: &Value, words: &str) {
    expect_refused(&caller.post(path, body).await, 400, body, words);
}

const VIDEOS: &str = "/v1/videos/generations";

fn video(model: &str, asset: &Value, prompt: &str) -> Value {
    json!({"model": model, "prompt": prompt, "image_urls": [asset], "resolution": "480p", "duration": 4})
}

#[test]
fn an_avatar_is_reviewed_and_used_in_a_clip_of_its_owner_only() {
    run(async {
        let gateway = TestGateway::start().await;
        let task = finish(&gateway.caller, &one(&gateway, "face")).await;
        assert_eq!((&task["status"], &task["progress"]), (&json!("completed"), &json!(100)), "{task}");
        let (result, asset) = (&task["result"], &task["result"]["assets"][0]);
        let id = asset["asset_id"].as_str().expect("an id");
        assert_eq!(asset["asset_url"], format!("asset://{id}"));
        assert_eq!(asset["status"], "Active");
        assert_eq!(result["usable_assets"], json!([asset]));
        assert_eq!(result["failed_assets"], json!([]));
        assert_eq!(result["asset_url"], asset["asset_url"]);

        let url = &asset["asset_url"];
        for model in ["clip-2.0", "clip-2.0-fast"] {
            let prompt = format!("the face in {model}");
            let clip = gateway.finish(&video(model, url, &prompt)).await;
            assert_eq!(film_of(&clip).await.milliseconds, 4000);
            let sent = seen(&gateway, &prompt).body["content"][1].clone();
            assert_eq!(sent, json!({"type": "image_url", "image_url": {"url": url}, "role": "first_frame"}));
        }
        let words = "assets work with clip-2.0 and clip-2.0-fast only";
        refused(&gateway.caller, VIDEOS, &video("clip-2.0-mini", url, "a face"), words).await;
        let as_video = json!({"model": "clip-2.0", "prompt": "a face", "video_urls": [url]});
        refused(&gateway.caller, VIDEOS, &as_video, "expected an asset of the type Video").await;

        // Another customer's asset is as unknown as one that never existed.
        let other = gateway.process.open_account("globex", "1000").await;
        refused(&other, VIDEOS, &video("clip-2.0", url, "stolen"), &format!("got the unknown asset://{id}"))
            .await;
        let never = json!("asset://asset-never");
        refused(&other, VIDEOS, &video("clip-2.0", &never, "x"), "got the unknown asset://asset-never").await;
        assert!(gateway.sandbox.ark_record().submits.iter().all(|submit| submit.prompt != "stolen"));
        let read = other.get(&format!("/v1/tasks/{}", task["id"].as_str().expect("an id"))).await;
        assert_eq!(read.status, 404);
        gateway.process.expect_sound_ledger().await;
    });
}

#[test]
fn shapes_limits_and_combinations_are_refused() {
    run(async {
        let gateway = TestGateway::start().await;
        let asset = || one(&gateway, "face");
        let assets = |count: usize| json!({"assets": vec![asset(); count]});
        let more = |more: Value| with(asset(), more);
        #[rustfmt::skip]
        let rows = [
            (json!({}), "`assets`: expected an array of 1 to 20, or `url` and `name`; got nothing"),
            (json!({"assets": []}), "`assets`: expected a length of at least 1, got an array of 0"),
            (assets(21), "`assets`: expected a length of at most 20, got an array of 21"),
            (json!({"assets": [{"url": "https://example.com/a.png"}]}), "`assets[0].name`: expected a value, got nothing"),
            (json!({"assets": [{"name": "face"}]}), "`assets[0].url`: expected a value, got nothing"),
            (json!({"assets": [{"url": "data:image/png;base64,AAAA", "name": "face"}]}), "`assets[0].url`: expected a public http(s) URL"),
            (json!({"assets": "face"}), "`assets`: expected an array"),
            (json!({"url": "https://example.com/a.png"}), "`name`: expected a string beside `url`, got nothing"),
            (json!({"name": "face"}), "`url`: expected a string beside `name`, got nothing"),
            (more(json!({"url": "ftp://example.com/a.png"})), "`url`: expected a public http(s) URL"),
            (more(json!({"name": " "})), "`name`: expected a text that is not blank"),
            (more(json!({"name": "a".repeat(65)})), "`name`: expected a length of at most 64"),
            (with(assets(1), json!({"url": "https://example.com/a.png"})), "`url`: cannot be combined with `assets`"),
            (with(assets(1), json!({"name": "face"})), "`name`: cannot be combined with `assets`"),
            (more(json!({"group": {"name": "g"}, "group_id": "group-1"})), "`group`: cannot be combined with `group_id`"),
            (more(json!({"group": {"description": "d"}})), "`group.name`: expected a value, got nothing"),
            (more(json!({"group": {"name": ""}})), "`group.name`: expected a text that is not blank"),
            (more(json!({"group": {"name": "g", "description": "a".repeat(301)}})), "`group.description`: expected a length of at most 300"),
            (more(json!({"group": "g"})), "`group`: expected an object"),
            (more(json!({"group_id": "group-of-another"})), "`group_id`: expected the id of a group of yours, got the unknown \"group-of-another\""),
            (more(json!({"asset_type": "image"})), "`asset_type`: expected one of `Image`, `Video`, `Audio`"),
            (more(json!({"project_name": 7})), "`project_name`: expected a string, got 7"),
        ];
        for (body, words) in &rows {
            refused(&gateway.caller, PATH, body, words).await;
        }
        assert!(gateway.sandbox.ark_record().calls.is_empty());
        // The limits from the other side.
        let longest = "\u{e9}".repeat(64);
        let many = with(
            assets(20),
            json!({"group": {"name": longest, "description": "d".repeat(300)}, "project_name": "default"}),
        );
        let task = finish(&gateway.caller, &many).await;
        assert_eq!(task["status"], "completed", "{task}");
        assert_eq!(task["result"]["usable_assets"].as_array().map(Vec::len), Some(20));
        assert_eq!(task["result"]["asset_url"], Value::Null);
        let record = gateway.sandbox.ark_record();
        assert_eq!((record.groups.len(), record.assets.len()), (1, 20));
        assert_eq!((record.groups[0].name.clone(), record.groups[0].project.as_str()), (longest, "default"));
    });
}

#[test]
fn each_type_is_reviewed_as_what_it_is() {
    run(async {
        let gateway = TestGateway::start().await;
        let looks = [
            ("Image", "800x600.png", true),
            ("Video", "1280x720-5s.mp4", true),
            ("Audio", "5s.wav", true),
            ("Image", "100x100.png", false),
            ("Video", "800x600.png", false),
            ("Audio", "missing", false),
        ]
        .map(async |(asset_type, sample, is_good)| {
            let body = json!({"url": gateway.sample(sample), "name": sample, "asset_type": asset_type});
            let task = finish(&gateway.caller, &body).await;
            assert_eq!(
                task["status"],
                if is_good { "completed" } else { "failed" },
                "{asset_type} {sample}: {task}"
            );
            if sample == "missing" {
                let error = &task["error"];
                assert_eq!(error["type"], "invalid_request_error", "{error}");
                let message = error["message"].as_str().unwrap_or_default();
                assert!(message.contains("dependency unavailable: `url`"), "{error}");
            }
            task["result"]["asset_url"].clone()
        });
        let urls = join_all(looks).await;
        let body = json!({
            "model": "clip-2.0", "prompt": "all three", "image_urls": [urls[0]], "video_urls": [urls[1]],
            "audio_urls": [urls[2]],
        });
        assert_eq!(gateway.finish(&body).await["status"], "completed");
        assert_eq!(seen(&gateway, "all three").body["content"].as_array().map(Vec::len), Some(4));
    });
}

#[test]
fn groups_belong_to_their_customer() {
    run(async {
        let gateway = TestGateway::start().await;
        let group = with(one(&gateway, "a"), json!({"group": {"name": "faces", "description": "of a film"}}));
        let made = finish(&gateway.caller, &group).await;
        let id = &made["result"]["group_id"];
        let again = finish(&gateway.caller, &with(one(&gateway, "b"), json!({"group_id": id}))).await;
        assert_eq!(again["status"], "completed", "{again}");
        let record = gateway.sandbox.ark_record();
        assert_eq!((record.groups.len(), record.groups[0].name.as_str()), (1, "faces"));
        assert_eq!(record.groups[0].description, "of a film");
        assert!(record.assets.iter().all(|asset| json!(asset.group) == *id));
        let other = gateway.process.open_account("globex", "1000").await;
        let foreign = with(one(&gateway, "c"), json!({"group_id": id}));
        refused(&other, PATH, &foreign, "`group_id`: expected the id of a group of yours, got the unknown")
            .await;
        // Without a group each customer has one of its own.
        for (caller, name) in [(&gateway.caller, "d"), (&gateway.caller, "e"), (&other, "f")] {
            assert_eq!(finish(caller, &one(&gateway, name)).await["status"], "completed");
        }
        let record = gateway.sandbox.ark_record();
        let group_of =
            |name: &str| record.assets.iter().find(|asset| asset.name == name).map(|asset| &asset.group);
        assert_eq!(record.groups.len(), 3);
        assert_eq!(group_of("d"), group_of("e"));
        assert_ne!(group_of("d"), group_of("f"));
    });
}

#[test]
fn what_was_approved_of_a_failed_task_stays_usable() {
    run(async {
        let gateway = TestGateway::start().await;
        let assets: Vec<_> =
            ["good", "bad [[reject]]", "worse [[400]]"].iter().map(|name| one(&gateway, name)).collect();
        let task = finish(&gateway.caller, &json!({"assets": assets})).await;
        let (result, error) = (&task["result"], &task["error"]);
        assert_eq!((&task["status"], &task["progress"]), (&json!("failed"), &json!(100)), "{task}");
        assert_eq!(error["code"], "task_failed");
        assert!(
            error["message"].as_str().is_some_and(|text| text.starts_with("some assets failed review")),
            "{error}"
        );
        let count = |list: &str| result[list].as_array().map(Vec::len);
        assert_eq!(
            (count("assets"), count("usable_assets"), count("failed_assets")),
            (Some(3), Some(1), Some(2))
        );
        assert_eq!(task["cost"], 0.0);
        let (good, bad) = (&result["usable_assets"][0], &result["failed_assets"][0]);
        assert_eq!((&good["status"], &bad["status"]), (&json!("Active"), &json!("Failed")));
        let clip = gateway.finish(&video("clip-2.0", &good["asset_url"], "the good one")).await;
        assert_eq!(clip["status"], "completed", "{clip}");
        refused(&gateway.caller, VIDEOS, &video("clip-2.0", &bad["asset_url"], "x"), "got the unknown").await;
        gateway.process.expect_sound_ledger().await;
    });
}

#[test]
fn each_asset_shows_its_result_while_others_are_under_review() {
    run(async {
        let gateway = TestGateway::start().await;
        let assets: Vec<_> =
            ["fast", "never [[never-ready]]"].iter().map(|name| one(&gateway, name)).collect();
        let id = accepted(&gateway.caller, &json!({"assets": assets})).await;
        let usable =
            async || gateway.caller.task(&id).await["result"]["usable_assets"].as_array().map(Vec::len);
        until("one asset is usable", async || usable().await == Some(1)).await;
        let task = gateway.caller.task(&id).await;
        assert_eq!(task["status"], "processing");
        assert!(task["progress"].as_u64().is_some_and(|progress| (11..100).contains(&progress)), "{task}");
        let statuses: Vec<_> = task["result"]["assets"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|asset| &asset["status"])
            .collect();
        assert_eq!(statuses, ["Active", "Processing"]);
        // Approved assets must not be lost, so a task that has made some is not stopped.
        let path = format!("/v1/tasks/{id}/cancel");
        assert_eq!(gateway.caller.send("POST", &path, &[], "").await.status, 409);
    });
}

/// Words that would reveal the provider or the operator's account to a client.
const SECRETS: &[&str] = &["2100000001", "127.0.0.1", "sandbox-key", "AKsandbox"];

/// A marker, and the outcome: nothing wrong, or the code and the words of the failure.
type FaultRow = (&'static str, Result<(), (&'static str, &'static str)>);

/// The marker in an asset's name; completed, or failed with this `error.type` and these words.
const FAULTS: &[FaultRow] = &[
    ("[[401]]", Err(("upstream_error", "No available upstream, please retry later"))),
    ("[[403-overdue]]", Err(("upstream_error", "No available upstream, please retry later"))),
    ("[[no-plan]]", Err(("upstream_error", "No available upstream, please retry later"))),
    ("[[400]]", Err(("invalid_request_error", "The file at the URL is not supported"))),
    ("[[429:2]]", Ok(())),
    ("[[429-overloaded:1]]", Ok(())),
    ("[[500]]", Err(("upstream_error", "the upstream failed to take the asset"))),
    ("[[503-html]]", Err(("upstream_error", "the upstream failed to take the asset"))),
    ("[[submit-reset]]", Err(("upstream_error", "the upstream's answer was lost"))),
    ("[[submit-cut]]", Err(("upstream_error", "the upstream's answer was lost"))),
    ("[[garbage-submit]]", Err(("upstream_error", "the upstream failed to take the asset"))),
    ("[[slow:300]]", Ok(())),
    ("[[first-poll-404:3]]", Ok(())),
    ("[[first-poll-404:99]]", Err(("invalid_request_error", "The asset is not found"))),
    ("[[poll-500:3]]", Ok(())),
    ("[[poll-500:99]]", Err(("upstream_error", "the upstream failed to review the asset"))),
    ("[[poll-429:2]]", Ok(())),
    ("[[poll-401]]", Err(("upstream_error", "No available upstream"))),
    ("[[malformed-json]]", Ok(())),
    ("[[reject]]", Err(("content_policy_violation", "The content may be sensitive"))),
];

#[test]
fn every_fault_of_the_library_has_its_outcome() {
    run(async {
        let gateway = TestGateway::start().await;
        let looks = FAULTS.iter().map(async |(marker, end)| {
            let name = format!("face {marker}");
            let task = finish(&gateway.caller, &one(&gateway, &name)).await;
            let (error, text) = (&task["error"], message_of(&task));
            let well = match end {
                Ok(()) => task["status"] == "completed",
                Err((kind, words)) => error["type"] == *kind && text.contains(words) && task["cost"] == 0.0,
            };
            let made = gateway.sandbox.ark_record().assets.iter().filter(|asset| asset.name == name).count();
            verdict(&format!("{marker}, made {made}"), &task, well && made <= 1, SECRETS)
        });
        expect_all(looks).await;
        // A group that cannot be made ends the task before any asset.
        for (marker, words) in [
            ("[[no-plan]]", "No available upstream"),
            ("[[500]]", "failed to make the group"),
            ("[[submit-cut]]", "lost"),
        ] {
            let group = json!({"group": {"name": format!("faces {marker}")}});
            let task = finish(&gateway.caller, &with(one(&gateway, "in no group"), group)).await;
            assert!(message_of(&task).contains(words), "{marker}: {task}");
        }
        assert!(gateway.sandbox.ark_record().assets.iter().all(|asset| asset.name != "in no group"));
        gateway.process.expect_sound_ledger().await;
    });
}

/// Two accounts at both planes: what one made is used through that one.
#[test]
fn an_asset_stays_with_its_account() {
    run(async {
        let keys = vec!["sandbox-key".to_owned(), "second-key".to_owned()];
        let settings = Settings { keys, ..at_once() };
        let (second, id) = (key_file("second"), key_file("second-id"));
        let more = format!(
            "[providers.ark.accounts.other]\nsecret = {{ file = \"{second}\" }}\n\n\
             [providers.ark-assets.accounts.other]\nsecret = {{ file = \"{second}\" }}\nkey_id = {{ file = \"{id}\" }}\n"
        );
        let gateway = TestGateway::start_over(settings, &more).await;
        let account_of = |name: &str| {
            let record = gateway.sandbox.ark_record();
            record.assets.iter().find(|asset| asset.name == name).map(|asset| asset.account).expect("made")
        };
        let look = async |number: usize| {
            let group = json!({"group": {"name": format!("group {number}")}});
            let task = finish(&gateway.caller, &with(one(&gateway, &format!("face {number}")), group)).await;
            assert_eq!(task["status"], "completed", "{task}");
            task["result"].clone()
        };
        let (mut results, mut accounts) = (Vec::new(), Vec::<usize>::new());
        // Accounts are drawn by their weight: of eight, one in a hundred times all have the same.
        while !(accounts.contains(&0) && accounts.contains(&1)) {
            let numbers = accounts.len()..accounts.len() + 8;
            assert!(numbers.end <= 64, "{accounts:?}");
            results.extend(join_all(numbers.clone().map(&look)).await);
            accounts.extend(numbers.map(|number| account_of(&format!("face {number}"))));
        }
        for (number, (result, account)) in results.iter().zip(&accounts).enumerate() {
            let prompt = format!("face {number}");
            let clip = gateway.finish(&video("clip-2.0", &result["asset_url"], &prompt)).await;
            assert_eq!(clip["status"], "completed", "{clip}");
            assert_eq!(seen(&gateway, &prompt).account, *account);
            let later =
                with(one(&gateway, &format!("later {number}")), json!({"group_id": result["group_id"]}));
            assert_eq!(finish(&gateway.caller, &later).await["status"], "completed");
            assert_eq!(account_of(&format!("later {number}")), *account);
        }
        let first = accounts.iter().position(|account| *account == 0).expect("one of each");
        let second = accounts.iter().position(|account| *account == 1).expect("one of each");
        let both = json!({"model": "clip-2.0", "prompt": "both", "image_urls": [results[first]["asset_url"], results[second]["asset_url"]]});
        refused(&gateway.caller, VIDEOS, &both, "expected assets that can be used together").await;
    });
}

/// Without it a key for clips could not submit the assets that its clips may use.
#[test]
fn a_key_for_any_clip_model_may_submit_assets() {
    run(async {
        let gateway = TestGateway::start().await;
        for (model, allowed) in [
            ("clip-2.0", true),
            ("clip-2.0-fast", true),
            ("clip-2.0-mini", true),
            ("clip-avatar", true),
            ("motion-2.6", false),
        ] {
            let key = gateway.process.make_key("acme", &["--unlimited", "--model", model]).await;
            let answer = key.post(PATH, &with(one(&gateway, "face"), json!({"dry_run": true}))).await;
            assert_eq!(answer.status, if allowed { 200 } else { 403 }, "{model}: {}", answer.text());
        }
        let films =
            finish(&gateway.caller, &with(one(&gateway, "a"), json!({"project_name": "films"}))).await;
        assert_eq!(films["status"], "completed", "{films}");
        assert!(gateway.sandbox.ark_record().assets.iter().any(|asset| asset.project == "films"));
    });
}

/// The control plane has credentials of its own; who makes videos only needs none of them.
#[test]
fn without_an_account_for_assets_videos_are_made() {
    run(async {
        let gateway = TestGateway::start_of(at_once(), configure_videos).await;
        let clip = gateway.finish(&json!({"model": "clip-2.0", "prompt": "a red kite"})).await;
        assert_eq!(clip["status"], "completed", "{clip}");
        let group = json!({"group": {"name": "faces"}});
        let task = finish(&gateway.caller, &with(one(&gateway, "a face"), group)).await;
        assert_eq!(task["status"], "failed", "{task}");
        assert_eq!(task["error"]["type"], "upstream_error", "{task}");
        gateway.process.expect_sound_ledger().await;
    });
}
