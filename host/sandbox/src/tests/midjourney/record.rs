//! The record, in process and over its own listener.

use crate::midjourney::{Declined, MidjourneyRecord};
use serde_json::json;

use super::proxy::{imagine, post, press, recorded, shown, submit, uri};
use crate::tests::client::{START_MS, TestSandbox, call, fetch};

#[tokio::test]
async fn submits_presses_reads_and_refusals_are_counted() {
    let test = TestSandbox::with(|settings| {
        settings.job_time = std::time::Duration::ZERO;
        settings.keys.insert(0, "first-key".to_owned());
    })
    .await;
    let grid = imagine(&test, "a kite").await;
    let up = press(&test, &grid, "MJ::JOB::upsample::3").await;
    press(&test, &grid, "MJ::JOB::upsample::3").await;
    submit(&test, "imagine", &json!({ "prompt": "[[24]]" })).await;
    submit(&test, "imagine", &json!({ "prompt": 5 })).await;
    post(&test, "/mj/task/list-by-condition", &json!({ "ids": [grid, up] })).await.expect("a reply");
    fetch(shown(&test, &up).await["imageUrl"].as_str().expect("a link")).await;

    let record = test.sandbox.midjourney_record();
    assert_eq!((record.accounts[0].submits, record.accounts[1].submits), (0, 3));
    assert_eq!((record.accounts[1].fetches, record.accounts[1].lists), (3, 1));
    let made = recorded(&test, &grid);
    assert_eq!((made.presses.values().sum::<u32>(), made.fetches, made.listed, made.account), (2, 2, 1, 1));
    let of_up = recorded(&test, &up);
    assert_eq!(
        (of_up.route.as_str(), of_up.parent.as_deref(), of_up.deliveries),
        ("action", Some(grid.as_str()), 1)
    );
    let refused =
        |code| Declined { route: "submit/imagine".to_owned(), status: 200, code: Some(code), at: START_MS };
    assert_eq!(record.declined, [refused(24), refused(-1)]);
    assert_eq!((record.lists[0].account, record.lists[0].ids), (1, 2));
}

#[tokio::test]
async fn pictures_are_recorded_by_digest_and_the_listener_serves_it_all() {
    let test = TestSandbox::start().await;
    let body = json!({ "prompt": "p", "base64Array": [uri(9, 7, [1, 2, 3]), "https://a.example/b.png"] });
    submit(&test, "imagine", &body).await;
    let kept = test.sandbox.midjourney_record().tasks[0].body.clone();
    assert_eq!((&kept["base64Array"][0]["width"], &kept["base64Array"][0]["height"]), (&json!(9), &json!(7)));
    assert_eq!(kept["base64Array"][0]["sha256"].as_str().map(str::len), Some(64));
    assert_eq!(kept["base64Array"][1], json!({ "url": "https://a.example/b.png" }));
    let served = fetch(&format!("{}/truth", test.sandbox.midjourney().record)).await;
    let served: MidjourneyRecord = serde_json::from_slice(&served.body).expect("the record");
    assert_eq!(served, test.sandbox.midjourney_record());
    let origins = test.sandbox.midjourney().clone();
    test.sandbox.stop().await;
    for origin in [origins.api, origins.files, origins.record] {
        assert!(call("GET", &format!("{origin}/"), &[], "").await.is_none(), "{origin}");
    }
}
