//! Files: exact sizes and formats, reproducible, behind links that die.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::ImageFormat;
use serde_json::json;

use crate::tests::client::{TestSandbox, call, decoded, fetch, link, prompt};

#[tokio::test]
async fn sizes_and_formats() {
    let test = TestSandbox::start().await;
    #[rustfmt::skip]
    let sizes = [
        ("1:1", 1024, 1024), ("4:3", 1184, 880), ("3:4", 880, 1184), ("16:9", 1392, 752), ("9:16", 752, 1392),
        ("3:2", 1248, 832), ("2:3", 832, 1248), ("21:9", 1568, 672), ("9:21", 672, 1568),
    ];
    for (ratio, width, height) in sizes {
        for (format, kind) in
            [("png", ImageFormat::Png), ("jpeg", ImageFormat::Jpeg), ("webp", ImageFormat::WebP)]
        {
            let body = json!({ "prompt": "a kite", "aspect_ratio": ratio, "output_format": format });
            let file = test.file(&body).await;
            assert_eq!((file.status, decoded(&file.body)), (200, (kind, width, height)), "{ratio} {format}");
            assert_eq!(file.header("content-type"), format!("image/{format}"));
            assert_eq!(file.header("content-length"), file.body.len().to_string());
            assert!(file.body.len() < 1 << 20, "{ratio} {format}: {} bytes", file.body.len());
        }
    }
}

#[tokio::test]
async fn without_a_ratio_the_first_image_decides() {
    let test = TestSandbox::start().await;
    let samples = test.sandbox.context().samples.clone();
    let wide = fetch(&format!("{samples}/samples/640x360.jpeg")).await;
    let inline = format!("data:image/jpeg;base64,{}", STANDARD.encode(&wide.body));
    let tall = format!("{samples}/samples/300x700.png");
    for (body, width, height) in [
        (json!({ "prompt": "p" }), 1024, 1024),
        (json!({ "prompt": "p", "input_image": inline }), 1392, 752),
        (json!({ "prompt": "p", "input_image": STANDARD.encode(&wide.body) }), 1392, 752),
        (json!({ "prompt": "p", "input_image": tall }), 672, 1568),
        (json!({ "prompt": "p", "input_image": inline, "input_image_2": tall }), 1392, 752),
        (json!({ "prompt": "p", "input_image": inline, "aspect_ratio": "1:1" }), 1024, 1024),
    ] {
        assert_eq!(decoded(&test.file(&body).await.body), (ImageFormat::Png, width, height));
    }
}

#[tokio::test]
async fn the_same_seed_and_parameters_give_the_same_bytes() {
    let (one, two) = (TestSandbox::start().await, TestSandbox::start().await);
    let body = json!({ "prompt": "a kite", "seed": 42 });
    let file = one.file(&body).await.body;
    assert_eq!(file, one.file(&body).await.body);
    assert_eq!(file, two.file(&body).await.body, "another sandbox draws the same");
    for other in [
        json!({ "prompt": "a kite!", "seed": 42 }),
        json!({ "prompt": "a kite", "seed": 43 }),
        json!({ "prompt": "a kite", "seed": 42, "safety_tolerance": 6 }),
        json!({ "prompt": "a kite", "seed": 42, "prompt_upsampling": true }),
        json!({ "prompt": "a kite", "seed": 42, "input_image": "https://pictures.example/1024.png" }),
        json!({ "prompt": "a kite" }),
    ] {
        assert_ne!(file, one.file(&other).await.body, "{other}");
    }
}

#[tokio::test]
async fn links_expire() {
    let test = TestSandbox::with(|settings| {
        settings.job_time = Duration::ZERO;
        settings.link_life = Duration::from_secs(30);
    })
    .await;
    let sample = link(&test.accepted(&prompt("a kite")).await).await;
    test.advance(Duration::from_millis(29_999));
    assert_eq!(fetch(&sample).await.status, 200);
    test.advance(Duration::from_millis(1));
    let dead = fetch(&sample).await;
    assert_eq!((dead.status, dead.header("content-type")), (403, "application/xml"));
    let text = dead.text();
    assert!(text.starts_with("<?xml") && text.contains("<Code>AuthenticationFailed</Code>"), "{text}");
    assert!(text.contains("[2026-01-01T00:00:30Z]"), "{text}");
}

#[tokio::test]
async fn changed_links_are_refused() {
    let test = TestSandbox::start().await;
    let polling = test.accepted(&prompt("a kite")).await;
    let other = test.accepted(&prompt("another")).await;
    let sample = link(&polling).await;
    let (path, query) = sample.split_once('?').expect("a query");
    let stranger = TestSandbox::start().await;
    let foreign = link(&stranger.accepted(&prompt("a kite")).await).await;
    let id = |polling: &str| polling.rsplit('=').next().expect("an id").to_owned();
    for changed in [
        sample.replace("se=2026", "se=2036"),
        sample.replace(&id(&polling), &id(&other)),
        sample.replace(".png?", ".webp?"),
        sample.split("&sig=").next().expect("first").to_owned(),
        path.to_owned(),
        format!("{path}?{}", query.split_once('&').expect("several").1),
        format!("{sample}A"),
        foreign.replace(&stranger.sandbox.context().delivery, &test.sandbox.context().delivery),
    ] {
        let reply = fetch(&changed).await;
        assert_eq!(reply.status, 403, "{changed}");
        assert!(reply.text().contains("Signature did not match"), "{changed}");
    }
    assert_eq!(fetch(&sample).await.status, 200);
}

#[tokio::test]
async fn a_head_request_has_no_body() {
    let test = TestSandbox::start().await;
    let sample = link(&test.accepted(&prompt("a kite")).await).await;
    let head = call("HEAD", &sample, &[], "").await.expect("a reply");
    let whole = fetch(&sample).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), whole.body.len().to_string());
    assert_eq!(test.sandbox.context_record().submits[0].deliveries, 1);
}
