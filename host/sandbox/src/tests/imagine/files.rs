//! Files: JPEGs of the right size, another one for each image, behind links that end; or base64.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::ImageFormat::Jpeg;
use serde_json::{Value, json};

use super::{EDITS, GENERATIONS, data_uri, links, made, prompt};
use crate::tests::client::{TestSandbox, call, decoded, fetch};

/// The files of an answer.
async fn files(answer: &Value) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for link in links(answer) {
        let file = fetch(&link).await;
        assert_eq!((file.status, file.header("content-type")), (200, "image/jpeg"), "{}", file.text());
        files.push(file.body.to_vec());
    }
    files
}

#[tokio::test]
async fn sizes_follow_the_ratio() {
    let test = TestSandbox::start().await;
    for (fields, width, height) in [
        (json!({}), 1024, 1024),
        (json!({"aspect_ratio": "auto"}), 1024, 1024),
        (json!({"aspect_ratio": "1:1"}), 1024, 1024),
        (json!({"aspect_ratio": "16:9"}), 1360, 768),
        (json!({"aspect_ratio": "9:16"}), 768, 1360),
        (json!({"aspect_ratio": "3:2"}), 1248, 832),
        (json!({"aspect_ratio": "2:3"}), 832, 1248),
        (json!({"aspect_ratio": "1:1", "resolution": "2k"}), 2048, 2048),
        (json!({"aspect_ratio": "16:9", "resolution": "2k"}), 2736, 1536),
    ] {
        let mut body = prompt("a kite");
        for (name, value) in fields.as_object().expect("fields") {
            body[name] = value.clone();
        }
        let made = files(&made(&test, GENERATIONS, &body).await).await;
        assert_eq!(decoded(&made[0]), (Jpeg, width, height), "{fields}");
    }
}

#[tokio::test]
async fn an_edit_keeps_the_ratio_of_a_single_reference() {
    let test = TestSandbox::start().await;
    let wide = json!({"url": data_uri(&test, "640x360.png").await, "type": "image_url"});
    for (fields, width, height) in [
        (json!({"image": wide}), 1360, 768),
        (json!({"image": wide, "aspect_ratio": "1:1"}), 1360, 768),
        (json!({"images": [wide, wide]}), 1360, 768),
        (json!({"images": [wide, wide], "aspect_ratio": "1:1"}), 1024, 1024),
    ] {
        let mut body = fields;
        body["prompt"] = json!("make it night");
        let made = files(&made(&test, EDITS, &body).await).await;
        assert_eq!(decoded(&made[0]), (Jpeg, width, height));
    }
}

#[tokio::test]
async fn each_image_is_another_picture_and_each_call_the_same() {
    let test = TestSandbox::start().await;
    let call = json!({"prompt": "a kite", "n": 10});
    let first = files(&made(&test, GENERATIONS, &call).await).await;
    assert_eq!(first.len(), 10);
    assert_eq!(first.iter().collect::<std::collections::HashSet<_>>().len(), 10);
    assert_eq!(first, files(&made(&test, GENERATIONS, &call).await).await);
    let other = json!({"prompt": "a kite", "n": 1, "model": "grok-imagine-image-quality"});
    assert_ne!(first[0], files(&made(&test, GENERATIONS, &other).await).await[0]);
}

#[tokio::test]
async fn base64_is_bare() {
    let test = TestSandbox::start().await;
    let body = json!({"prompt": "a kite", "n": 2, "response_format": "b64_json"});
    let answer = made(&test, GENERATIONS, &body).await;
    let linked = files(&made(&test, GENERATIONS, &json!({"prompt": "a kite", "n": 2})).await).await;
    for (item, file) in answer["data"].as_array().expect("a list").iter().zip(linked) {
        assert!(item.get("url").is_none());
        assert_eq!(STANDARD.decode(item["b64_json"].as_str().expect("base64")).expect("bare base64"), file);
    }
}

#[tokio::test]
async fn links_end() {
    let test = TestSandbox::with(|settings| {
        settings.job_time = Duration::ZERO;
        settings.link_life = Duration::from_secs(30);
    })
    .await;
    let link = links(&made(&test, GENERATIONS, &prompt("a kite")).await).remove(0);
    test.advance(Duration::from_millis(29_999));
    assert_eq!(fetch(&link).await.status, 200);
    let head = call("HEAD", &link, &[], "").await.expect("a reply");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(call("POST", &link, &[], "").await.expect("a reply").header("allow"), "GET, HEAD");
    test.advance(Duration::from_millis(1));
    for gone in [&link, &link.replace("xai-tmp-imgen-", "xai-tmp-imgen-0"), &link.replace(".jpeg", ".png")] {
        assert_eq!(fetch(gone).await.status, 404, "{gone}");
    }
    // A HEAD is no delivery.
    assert_eq!(test.sandbox.imagine_record().calls[0].deliveries, 1);
}
