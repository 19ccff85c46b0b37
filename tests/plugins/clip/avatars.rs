//! Avatar assets: the calls of the control plane one by one, and what each answer makes of the task.

use std::time::Duration;

use clip::AVATARS;
use gatehouse_sdk::{Blame, Call, Outage, Owned, Replay, Stage, Submission, Target};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::clip::play;
use crate::tasks::UNAVAILABLE;

const FACE: &str = "https://example.com/face.png";

fn assets(names: &[&str]) -> Value {
    let assets: Vec<_> = names.iter().map(|name| json!({"url": FACE, "name": name})).collect();
    json!({"assets": assets, "group": {"name": "faces"}})
}

fn accepted(body: Value) -> Script {
    let count = body["assets"].as_array().map_or(1, Vec::len);
    Script::new().submit(AVATARS, body).expect_accepted(move |accepted| {
        assert_eq!((accepted.stage, accepted.progress), (Stage::Processing, 10));
        assert_eq!(
            (accepted.model.as_str(), accepted.charge.lines[0].keys[0].as_str()),
            ("clip-2.0", "clip-avatar")
        );
        assert_eq!(accepted.charge.lines[0].quantity, count as u64);
    })
}

fn is_action(call: &Call, action: &str, replay: Replay) {
    assert_eq!(call.provider, "ark-assets");
    assert_eq!(call.target, Target::from(format!("/?Action={action}&Version=2024-01-01")));
    assert_eq!((call.method.as_str(), call.replay), ("POST", replay));
}

fn result(result: Value) -> Value {
    json!({"ResponseMetadata": {"RequestId": "r"}, "Result": result})
}

fn error(code: &str, message: &str) -> Value {
    json!({"ResponseMetadata": {"RequestId": "r", "Error": {"Code": code, "Message": message}}})
}

/// The group is made; the first asset's call is out.
fn grouped(body: Value) -> Script {
    accepted(body)
        .start()
        .expect_call(|call| {
            is_action(call, "CreateAssetGroup", Replay::Once);
            let body =
                json!({"Name": "faces", "Description": "", "GroupType": "AIGC", "ProjectName": "default"});
            assert_eq!(call.json_body(), body);
        })
        .reply(200, result(json!({"Id": "group-1"})))
        .expect_call(|call| {
            is_action(call, "CreateAsset", Replay::Once);
            assert_eq!(call.affinity.as_deref(), Some("account-1"));
            assert_eq!(call.json_body()["GroupId"], "group-1");
            assert_eq!(call.json_body()["URL"], FACE);
        })
}

/// Without it an address in capitals fails its review.
#[test]
fn the_scheme_of_an_address_is_sent_in_lower_case() {
    let mut body = assets(&["face"]);
    body["assets"][0]["url"] = json!(FACE.replacen("https", "HTTPS", 1));
    play(&made(grouped(body), "asset-1").expect_wait(|_| ()));
}

fn made(script: Script, id: &'static str) -> Script {
    script.reply(200, result(json!({"Id": id})))
}

/// One asset, made; the first poll is out.
fn polled() -> Script {
    made(grouped(assets(&["face"])), "asset-1").expect_wait(|_| ()).timer().expect_call(|call| {
        is_action(call, "GetAsset", Replay::Safe);
        assert_eq!(call.json_body(), json!({"Id": "asset-1", "ProjectName": "default"}));
    })
}

fn review(status: &str) -> Value {
    result(json!({"Id": "asset-1", "Status": status}))
}

#[test]
fn one_asset_from_group_to_claim() {
    let done = polled().reply(200, review("Processing")).expect_wait(|_| ()).expect_progress(10).timer();
    let done = done.expect_call(|_| ()).reply(200, review("Active")).expect_done(|outcome| {
        let asset = json!({"asset_id": "asset-1", "asset_url": "asset://asset-1", "status": "Active", "name": "face"});
        let public = json!({
            "assets": [asset], "usable_assets": [asset], "failed_assets": [], "group_id": "group-1",
            "asset_url": "asset://asset-1",
        });
        assert_eq!(outcome.public, public);
        let claims: Vec<_> = outcome.claims.iter().map(|claim| (claim.name.as_str(), claim.affinity.as_deref())).collect();
        assert_eq!(claims, [("group-1", Some("account-1")), ("asset://asset-1", Some("account-1"))]);
        let record = json!({"kind": "asset", "asset_type": "Image", "group_id": "group-1"});
        assert_eq!(outcome.claims[1].private, record);
    });
    play(&done);
}

#[test]
fn results_are_shown_one_by_one_and_a_part_stays_usable() {
    let script = made(grouped(assets(&["good", "bad"])), "asset-1")
        .expect_call(|call| assert_eq!(call.json_body()["Name"], "bad"))
        .expect_view(|view| assert_eq!(view.public["assets"][0]["status"], "Processing"));
    let script = made(script, "asset-2")
        .expect_wait(|wait| assert_eq!(*wait, Duration::from_secs(2)))
        .timer()
        .expect_call(|call| assert_eq!(call.json_body()["Id"], "asset-1"))
        .reply(200, review("Active"))
        .expect_call(|call| assert_eq!(call.json_body()["Id"], "asset-2"))
        .expect_view(|view| assert_eq!(view.public["usable_assets"][0]["asset_id"], "asset-1"))
        .expect_progress(52)
        .reply(200, result(json!({"Id": "asset-2", "Status": "Failed", "Error": {"Code": "X", "Message": "a real face"}})))
        .expect_fail_with(|ending| {
            assert_eq!(ending.failure.message, "some assets failed review: \"bad\" (a real face)");
            assert_eq!(ending.failure.blame, Blame::Moderation);
            let public = ending.public.as_ref().expect("a result");
            assert_eq!(public["failed_assets"][0]["asset_id"], "asset-2");
            assert_eq!(public["asset_url"], Value::Null);
            let names: Vec<_> = ending.claims.iter().map(|claim| claim.name.as_str()).collect();
            assert_eq!(names, ["group-1", "asset://asset-1"]);
        })
        .expect_progress(100);
    play(&script);
}

#[test]
fn without_a_group_the_customers_own_is_found_or_made() {
    let body = || json!({"url": FACE, "name": "face"});
    let start = || {
        accepted(body()).start().expect_call(|call| {
            is_action(call, "ListAssetGroups", Replay::Token);
            assert_eq!(call.json_body()["Filter"], json!({"Name": "default-", "GroupType": "AIGC"}));
        })
    };
    let other = json!({"Id": "group-8", "Name": "default-x", "ProjectName": "default"});
    let own = json!({"Id": "group-9", "Name": "default-", "ProjectName": "default"});
    let found = start()
        .reply(200, result(json!({"Items": [other, own], "TotalCount": 2})))
        .expect_call(|call| assert_eq!(call.json_body()["GroupId"], "group-9"));
    play(&found);
    let made = start()
        .reply(200, result(json!({"Items": [other], "TotalCount": 1})))
        .expect_call(|call| is_action(call, "CreateAssetGroup", Replay::Once))
        .reply(200, result(json!({"Id": "group-10"})))
        .expect_call(|call| assert_eq!(call.json_body()["GroupId"], "group-10"));
    play(&made);
}

#[test]
fn a_known_group_is_used_at_its_account() {
    let private = json!({"kind": "group", "project": "default"});
    let owned = vec![Owned { name: "group-7".to_owned(), private, affinity: Some("account-7".to_owned()) }];
    let body = json!({"group_id": "group-7", "url": FACE, "name": "face"});
    let script = Script::new()
        .submit_whole(Submission { owned, ..Submission::new(AVATARS, body) })
        .expect_accepted(|_| ())
        .start()
        .expect_call(|call| {
            is_action(call, "CreateAsset", Replay::Once);
            assert_eq!(
                (call.affinity.as_deref(), &call.json_body()["GroupId"]),
                (Some("account-7"), &json!("group-7"))
            );
        });
    play(&script);
}

/// Without it a project that the provider knows could not be named.
#[test]
fn any_project_is_sent() {
    let sent = |fields: Value, owned: Vec<Owned>, expected: &'static str| {
        let body = crate::over(json!({"url": FACE, "name": "face"}), fields);
        let request = Submission { owned, ..Submission::new(AVATARS, body) };
        let script = Script::new().submit_whole(request).expect_accepted(|_| ()).start();
        play(&script.expect_call(move |call| assert_eq!(call.json_body()["ProjectName"], expected)));
    };
    sent(json!({}), vec![], "default");
    sent(json!({"project_name": null}), vec![], "default");
    for project in ["default", "films", "a project, any"] {
        sent(json!({"project_name": project}), vec![], project);
    }
    let group = |project: &str| Owned {
        name: "group-7".to_owned(),
        private: json!({"kind": "group", "project": project}),
        affinity: None,
    };
    sent(json!({"group_id": "group-7"}), vec![group("films")], "films");
    sent(json!({"group_id": "group-7", "project_name": "films"}), vec![group("films")], "films");
    let body = json!({"url": FACE, "name": "face", "group_id": "group-7", "project_name": "default"});
    let other = Submission { owned: vec![group("films")], ..Submission::new(AVATARS, body) };
    let message = "`project_name`: expected \"films\", the project of the group, or nothing, got the string \"default\"";
    play(&Script::new().submit_whole(other).expect_refused("project_name", message));
}

/// Without it a client reads that its file broke a policy, when the file could not be fetched.
#[test]
fn a_failed_review_says_whose_fault_it_is() {
    for (code, blame, reason) in [
        ("InvalidParameter.DownloadFailed", Blame::Request, "dependency unavailable: `url`: it is so"),
        ("InvalidAsset", Blame::Request, "it is so"),
        ("InvalidParameter.Size", Blame::Request, "it is so"),
        ("SensitiveContentDetected", Blame::Moderation, "it is so"),
        ("X", Blame::Moderation, "it is so"),
    ] {
        let error = json!({"Code": code, "Message": "it is so"});
        let failed = result(json!({"Id": "asset-1", "Status": "Failed", "Error": error}));
        let message = format!("some assets failed review: \"face\" ({reason})");
        play(&polled().reply(200, failed).expect_fail(blame, &message));
    }
}

/// Without it every task under a short time limit fails at once.
#[test]
fn a_short_time_limit_leaves_time_to_work() {
    let body = assets(&["face"]);
    let script = Script::new()
        .time_limit(Duration::from_secs(40))
        .submit(AVATARS, body)
        .expect_accepted(|_| ())
        .start()
        .expect_call(|call| is_action(call, "CreateAssetGroup", Replay::Once))
        .reply(200, result(json!({"Id": "group-1"})))
        .expect_call(|call| is_action(call, "CreateAsset", Replay::Once));
    let script = made(script, "asset-1").expect_wait(|_| ()).later(Duration::from_secs(33)).timer();
    let script = script.expect_call(|_| ()).reply(200, review("Processing"));
    // No wait goes on beyond the last moment, a tenth of the limit before the host's.
    let script = script.expect_wait(|wait| assert!(*wait <= Duration::from_secs(3), "{wait:?}")).timer();
    play(&script.expect_fail_with(|ending| {
        assert_eq!(ending.failure.message, "Task timeout: 1 assets were not reviewed in time");
    }));
}

#[test]
fn a_refused_or_lost_creation_fails_its_asset_only() {
    let fail = |script: Script, blame: Blame, reason: &str| {
        let message = format!("some assets failed review: \"face\" ({reason})");
        play(&script.expect_fail(blame, &message));
    };
    let sent = || grouped(assets(&["face"]));
    fail(sent().reply(400, error("InvalidParameter.URL", "not a picture")), Blame::Request, "not a picture");
    fail(sent().reply(200, error("InvalidParameter.URL", "not a picture")), Blame::Request, "not a picture");
    let failed = "the upstream failed to take the asset";
    fail(sent().reply(500, error("InternalError", "boom")), Blame::Upstream, failed);
    fail(sent().reply(200, result(json!({}))), Blame::Upstream, failed);
    let lost = "the upstream's answer was lost, please submit it again";
    for outage in [Outage::Timeout, Outage::Broken, Outage::TooLarge] {
        fail(sent().outage(outage), Blame::Upstream, lost);
    }
}

#[test]
fn the_operators_account_ends_it() {
    for (status, code) in [
        (403, "SubscriptionRequired"),
        (403, "SignatureDoesNotMatch"),
        (401, "InvalidAccessKey"),
        (400, "InvalidTimestamp"),
        (200, "AccessDenied"),
    ] {
        let script = grouped(assets(&["face"])).reply(status, error(code, "the account 2100"));
        play(&script.expect_fail(Blame::Account, UNAVAILABLE));
    }
    play(&grouped(assets(&["face"])).outage(Outage::Refused).expect_fail(Blame::Upstream, UNAVAILABLE));
}

#[test]
fn what_was_turned_away_is_sent_again() {
    let mut script = grouped(assets(&["face"]));
    for (status, code) in [(429, "Throttling"), (200, "FlowLimitExceeded")] {
        script = script.reply(status, error(code, "slow down")).expect_wait(|_| ()).timer();
        script = script.expect_call(|call| is_action(call, "CreateAsset", Replay::Once));
    }
    script = script.outage(Outage::Unreachable).expect_wait(|_| ()).timer().expect_call(|_| ());
    play(&made(script, "asset-1").expect_wait(|_| ()));
}

#[test]
fn unclear_polls_are_asked_again_eight_times() {
    let mut script = polled();
    for round in 0..8 {
        let answered = match round % 2 {
            0 => script.reply(500, error("InternalError", "boom")),
            _ => script.reply(404, error("NotFound", "no such asset")),
        };
        script = answered.expect_wait(|_| ()).timer().expect_call(|_| ());
    }
    play(
        &script
            .reply(404, error("NotFound", "no such asset"))
            .expect_fail(Blame::Request, "some assets failed review: \"face\" (no such asset)"),
    );
    let mut lost = polled();
    for outage in [Outage::Timeout, Outage::Broken, Outage::Unreachable].into_iter().cycle().take(20) {
        lost = lost.outage(outage).expect_wait(|_| ()).timer().expect_call(|_| ());
    }
    play(&lost.reply(200, review("Active")).expect_done(|_| ()));
}

/// The host's own timeout would leave the approved assets without an owner.
#[test]
fn it_ends_itself_before_the_deadline() {
    let script = polled().later(Duration::from_secs(29 * 60 + 30)).reply(200, review("Processing"));
    play(&script.expect_fail_with(|ending| {
        assert_eq!(ending.failure.message, "Task timeout: 1 assets were not reviewed in time");
        let names: Vec<_> = ending.claims.iter().map(|claim| claim.name.as_str()).collect();
        assert_eq!(names, ["group-1", "asset://asset-1"]);
    }));
}

#[test]
fn a_cancel_never_loses_what_was_made() {
    let waiting = accepted(assets(&["face"])).start().expect_call(|_| ()).reply(429, error("Throttling", ""));
    play(&waiting.expect_wait(|_| ()).cancel().expect_fail(Blame::Request, "cancelled before it was sent"));
    let under_review = made(grouped(assets(&["face"])), "asset-1").expect_wait(|_| ()).cancel();
    play(&under_review.expect_wait(|wait| assert!(!wait.is_zero())));
    // With the call out it waits for the deadline, and the host takes no wait of more than a day.
    let day = Duration::from_secs(24 * 60 * 60);
    let patient = Script::new().time_limit(3 * day).submit(AVATARS, assets(&["face"]));
    let out = patient.expect_accepted(|_| ()).start().expect_call(|_| ()).cancel();
    play(&out.expect_wait(move |wait| assert_eq!(*wait, day)));
}

/// Twenty assets, whose request has that many bytes in the task's state.
fn large(bytes: usize) -> Value {
    let url = |path: usize| format!("https://example.com/{}", "a".repeat(path));
    let asset = |number: usize| json!({"url": url(2180), "name": format!("face-{number}")});
    let mut body = json!({"assets": (0..20).map(asset).collect::<Vec<_>>(), "group": {"name": "faces"}});
    let kept = json!({
        "group": {"new": {"name": "faces", "description": null}}, "project": "default", "asset_type": "Image",
        "assets": body["assets"], "account": null,
    });
    body["assets"][19]["url"] = json!(url(2180 + bytes - kept.to_string().len()));
    body
}

/// Without it a submission that was accepted ends between two reviews, and what was approved is lost.
#[test]
fn the_largest_submission_has_room_for_every_reason() {
    for (letter, kept) in [("n", 400), ("\u{6f22}", 250)] {
        let mut script = accepted(large(45_056)).start().expect_call(|_| ());
        script = script.reply(200, result(json!({"Id": "group-1"}))).expect_call(|_| ());
        for at in 0..20 {
            script = script.reply(200, result(json!({"Id": format!("asset-{at:0>122}")})));
            script = if at < 19 { script.expect_call(|_| ()) } else { script.expect_wait(|_| ()) };
        }
        script = script.timer().expect_call(|_| ());
        for at in 0..20 {
            let error = json!({"Code": "X", "Message": letter.repeat(400)});
            script = script.reply(200, result(json!({"Status": "Failed", "Error": error})));
            script = if at < 19 { script.expect_call(|_| ()) } else { script };
        }
        let reason = letter.repeat(kept);
        let named = [0, 1, 2].map(|number| format!("\"face-{number}\" ({reason})"));
        let message = format!("some assets failed review: {} and 17 more", named.join(", "));
        play(&script.expect_fail_with(move |ending| assert_eq!(ending.failure.message, message)));
    }
    let message = "expected texts and URLs of at most 45056 bytes together, got 45057";
    play(&Script::new().submit(AVATARS, large(45_057)).expect_refused("", message));
}

/// Without it an asset that was made is lost for the form of its answer, and failures of the library are told as the client's.
#[test]
fn answers_are_read_in_every_form() {
    for body in [
        json!({"Result": {"Id": "asset-1"}}),
        json!({"ResponseMetadata": {"Error": null}, "Result": {"AssetId": 77}}),
        json!({"ResponseMetadata": {"Error": {}}, "Result": {"Id": "asset-1"}, "error": ""}),
    ] {
        play(&grouped(assets(&["face"])).reply(200, body).expect_wait(|_| ()));
    }
    for word in ["active", "ACTIVE ", "Active"] {
        play(&polled().reply(200, result(json!({"Status": word, "Error": {}}))).expect_done(|_| ()));
    }
    let failed = |error: Value, reason: &str| {
        let message = format!("some assets failed review: \"face\" ({reason})");
        let answer = result(json!({"Id": "asset-1", "Status": "FAILED", "Error": error}));
        play(
            &polled()
                .reply(200, answer)
                .expect_fail_with(move |ending| assert_eq!(ending.failure.message, message)),
        );
    };
    failed(json!({"Code": "X", "message": "a face"}), "a face");
    failed(json!(null), "it was rejected");
    failed(json!("a face"), "a face");
    failed(json!({"Code": "InternalError", "Message": "db 7"}), "the upstream failed to review the asset");
    failed(json!({"Code": "AccountOverdueError", "Message": "Account 2100"}), UNAVAILABLE);
    // An error in a form of its own.
    for (body, message) in [
        (json!({"error": {"code": "SubscriptionRequired", "message": "Account 2100"}}), UNAVAILABLE),
        (json!({"ResponseMetadata": {"Error": {"Code": "AccessDenied", "Message": 5}}}), UNAVAILABLE),
    ] {
        play(&grouped(assets(&["face"])).reply(200, body).expect_fail_with(move |ending| {
            assert_eq!(ending.failure.message, message);
        }));
    }
    for url in ["HTTPS://example.com/face.png", "Http://example.com/a.png"] {
        play(&accepted(json!({"url": url, "name": "face"})));
    }
}
