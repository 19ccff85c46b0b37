//! The record of the provider, in process and over its own listener.

use crate::ContextAddresses;
use crate::context::ContextRecord;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::tests::client::{KEY, START_MS, TestSandbox, call, fetch, prompt};

#[tokio::test]
async fn submits_and_refusals_are_recorded() {
    let test = TestSandbox::with(|settings| {
        settings.job_time = std::time::Duration::ZERO;
        settings.keys = vec!["first-key".to_owned(), KEY.to_owned()];
        settings.credits = 100;
    })
    .await;
    test.file(&prompt("a kite")).await;
    test.submit(&prompt("[[402]]")).await;
    test.submit(&prompt("[[garbage-submit]]")).await;
    test.submit(&json!({ "seed": 1 })).await;
    assert!(test.submit_to("/v1/flux-kontext-max", &prompt("[[submit-cut]]")).await.is_none());

    let record = test.sandbox.context_record();
    assert_eq!((record.accepted, record.credits), (3, vec![100, 100 - 4 - 4 - 8]));
    let recorded = record.submits.iter().map(|job| {
        (job.model.as_str(), job.prompt.as_str(), job.answered, job.cost, job.polls, job.deliveries)
    });
    let expected = [
        ("flux-kontext-pro", "a kite", true, 4, 1, 1),
        ("flux-kontext-pro", "[[garbage-submit]]", false, 4, 0, 0),
        ("flux-kontext-max", "[[submit-cut]]", false, 8, 0, 0),
    ];
    assert_eq!(recorded.collect::<Vec<_>>(), expected);
    assert_eq!(record.submits[0].body, prompt("a kite"));
    assert!(record.submits.iter().all(|job| job.at == START_MS && job.account == 1));
    let refused: Vec<_> = record.declined.iter().map(|no| (no.status, no.prompt.as_deref())).collect();
    assert_eq!(refused, [(402, Some("[[402]]")), (422, None)]);
}

#[tokio::test]
async fn images_are_recorded_by_digest() {
    let test = TestSandbox::start().await;
    let samples = test.sandbox.context().samples.clone();
    let file = fetch(&format!("{samples}/samples/64x32.webp")).await.body;
    let body = json!({
        "prompt": "p",
        "input_image": STANDARD.encode(&file),
        "input_image_2": format!("{samples}/samples/8x8.png"),
    });
    test.submit(&body).await;
    let recorded = test.sandbox.context_record().submits[0].body.clone();
    assert_eq!(recorded["prompt"], "p");
    let image = &recorded["input_image"];
    assert_eq!(
        (&image["bytes"], &image["width"], &image["height"]),
        (&json!(file.len()), &json!(64), &json!(32))
    );
    assert_eq!(image["sha256"].as_str().map(str::len), Some(64));
    assert_eq!(recorded["input_image_2"], json!({ "url": format!("{samples}/samples/8x8.png") }));
}

#[tokio::test]
async fn the_listener_serves_the_record() {
    let test = TestSandbox::start().await;
    test.file(&prompt("a kite")).await;
    test.submit(&prompt("[[429]]")).await;
    let served = fetch(&format!("{}/truth", test.sandbox.context().record)).await;
    let served: ContextRecord = serde_json::from_slice(&served.body).expect("the record");
    assert_eq!(served, test.sandbox.context_record());
}

#[tokio::test]
async fn five_addresses_survive_json() {
    let test = TestSandbox::start().await;
    let addresses = test.sandbox.context();
    let text = serde_json::to_string(addresses).expect("JSON");
    assert_eq!(&serde_json::from_str::<ContextAddresses>(&text).expect("addresses"), addresses);
    let all =
        [&addresses.submit, &addresses.poll, &addresses.delivery, &addresses.samples, &addresses.record];
    let different: std::collections::HashSet<_> = all.iter().collect();
    assert_eq!(different.len(), 5);
    assert!(all.iter().all(|origin| origin.starts_with("http://127.0.0.1:")));
}

#[tokio::test]
async fn stopping_closes_every_listener() {
    let test = TestSandbox::start().await;
    let addresses = test.sandbox.context().clone();
    let (chat, messages) = (test.sandbox.chat().origin.clone(), test.sandbox.messages().origin.clone());
    test.sandbox.stop().await;
    let ContextAddresses { submit, poll, delivery, samples, record } = addresses;
    for origin in [submit, poll, delivery, samples, record, chat, messages] {
        assert!(call("GET", &format!("{origin}/"), &[], "").await.is_none(), "{origin}");
    }
}
