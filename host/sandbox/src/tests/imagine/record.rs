//! The record of the provider, in process and over its own listener.

use crate::ImagineAddresses;
use crate::imagine::ImagineRecord;
use serde_json::json;

use super::{EDITS, GENERATIONS, data_uri, links, made, post, prompt, try_post};
use crate::tests::client::{JSON, KEY, START_MS, TestSandbox, call, fetch};

#[tokio::test]
async fn calls_and_refusals_are_recorded() {
    let test = TestSandbox::with(|settings| {
        settings.job_time = std::time::Duration::ZERO;
        settings.keys = vec!["first-key".to_owned(), KEY.to_owned()];
    })
    .await;
    let answer = made(&test, GENERATIONS, &json!({"prompt": "a [[filtered:1]]", "n": 3})).await;
    for link in links(&answer) {
        fetch(&link).await;
    }
    post(&test, GENERATIONS, &prompt("[[moderated]]")).await;
    post(&test, GENERATIONS, &prompt("[[500]]")).await;
    post(&test, EDITS, &json!({"prompt": "an edit", "image": {"url": "https://e.com/a.png"}})).await;
    assert!(try_post(&test, GENERATIONS, &prompt("[[cut]]")).await.is_none());
    let url = format!("{}{GENERATIONS}", test.sandbox.imagine().api);
    call("POST", &url, &[JSON], prompt("no key").to_string()).await.expect("a reply");

    let record = test.sandbox.imagine_record();
    let rows = record
        .calls
        .iter()
        .map(|call| (call.route.as_str(), call.status, call.images, call.cost_in_usd_ticks, call.deliveries));
    let expected = [
        // Filtered images are billed.
        ("generations", Some(200), 2, 600_000_000, 2),
        ("generations", Some(400), 0, 200_000_000, 0),
        ("generations", Some(500), 0, 0, 0),
        ("edits", Some(200), 1, 200_000_000, 0),
        ("generations", None, 1, 200_000_000, 0),
        ("generations", Some(401), 0, 0, 0),
    ];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
    assert_eq!((record.count, record.calls[0].body["n"].clone()), (6, json!(3)));
    assert!(record.calls.iter().all(|call| call.at == START_MS));
    assert!(record.calls[..5].iter().all(|call| call.account == Some(1)));
    assert_eq!((record.calls[5].account, &record.calls[5].body), (None, &json!(null)));
}

#[tokio::test]
async fn references_are_recorded_by_digest() {
    let test = TestSandbox::start().await;
    let uri = data_uri(&test, "64x32.webp").await;
    let body = json!({"prompt": "p", "image": {"url": uri, "type": "image_url"}});
    made(&test, EDITS, &body).await;
    let broken = json!({"prompt": "p", "images": [{"url": "data:image/png;base64,AAAA"}]});
    assert_eq!(post(&test, EDITS, &broken).await.status, 400);
    let calls = test.sandbox.imagine_record().calls;
    let kept = &calls[0].body["image"];
    assert_eq!(kept["type"], "image_url");
    let facts = &kept["url"];
    assert_eq!(
        (&facts["width"], &facts["height"], &facts["mime"]),
        (&json!(64), &json!(32), &json!("image/webp"))
    );
    assert_eq!(facts["sha256"].as_str().map(str::len), Some(64));
    assert_eq!(calls[1].body["images"], json!([{"url": null}]));
}

#[tokio::test]
async fn the_listener_serves_the_record() {
    let test = TestSandbox::start().await;
    made(&test, GENERATIONS, &prompt("a kite")).await;
    let addresses = test.sandbox.imagine().clone();
    let served = fetch(&format!("{}/truth", addresses.record)).await;
    let served: ImagineRecord = serde_json::from_slice(&served.body).expect("the record");
    assert_eq!(served, test.sandbox.imagine_record());
    let text = serde_json::to_string(&addresses).expect("JSON");
    assert_eq!(serde_json::from_str::<ImagineAddresses>(&text).expect("addresses"), addresses);
    test.sandbox.stop().await;
    for origin in [addresses.api, addresses.files, addresses.record] {
        assert!(call("GET", &format!("{origin}/"), &[], "").await.is_none(), "{origin}");
    }
}
