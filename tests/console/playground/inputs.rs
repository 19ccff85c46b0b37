//! Files and results as inputs of requests: kept, linked, sent, and told in the audit record.

use gatehouse_harness::{Gateway, run, send};
use serde_json::Value;

use super::{audited, start};
use crate::browser::Tab;

/// The field of the first picture.
const PICTURE: &str = "#f-image_urls-0";

async fn value_of(tab: &Tab, field: &str) -> String {
    drop(tab.find(field).await);
    let value = tab.run(&format!("return document.querySelector('{field}').value")).await;
    value.as_str().expect("a value").to_owned()
}

/// What stands behind a link of the public listener.
async fn behind(gateway: &Gateway, link: &str) -> (String, Vec<u8>) {
    let path = &link[link.find("/v1/media/").expect("a link of the gateway")..];
    let answer = send(gateway.public, "GET", path, &[], "").await;
    assert_eq!(answer.status, 200, "{link}: {}", answer.text());
    (answer.header("content-type").to_owned(), answer.body.to_vec())
}

/// Makes a result in a family's form, and opens the page of what takes it.
async fn use_result(tab: &Tab, family: &str) {
    tab.goto(&format!("/playground/{family}")).await;
    tab.press("Run").await;
    tab.see("completed").await;
    tab.press("Use as input").await;
    tab.see("goes into the form").await;
}

#[test]
fn a_result_and_a_file_are_inputs() {
    run(async {
        let (gateway, tab) = start().await;
        use_result(&tab, "context-image").await;
        // The family asks for https or bytes, and the gateway's address is plain HTTP: the picture is sent embedded.
        tab.click("a[href^='/playground/imagine?surface=images.generate']").await;
        let link = value_of(&tab, PICTURE).await;
        let (kind, bytes) = behind(&gateway, &link).await;
        assert!(kind.starts_with("image/") && !bytes.is_empty(), "{kind}");
        tab.press("Run").await;
        tab.see("completed").await;
        tab.find("img.result").await;

        let folder = tempfile::tempdir().expect("a folder");
        let picture = folder.path().join("a picture.png");
        std::fs::write(&picture, &bytes).expect("a file");
        for family in ["imagine", "context-image"] {
            tab.goto(&format!("/playground/{family}")).await;
            tab.choose("input[name='/image_urls/0|file']", &picture).await;
            tab.press("Dry run").await;
            tab.see("Nothing was made.").await;
            let link = value_of(&tab, PICTURE).await;
            assert_eq!(behind(&gateway, &link).await, (kind.clone(), bytes.clone()), "{family}");
            tab.press("Run").await;
            tab.see("completed").await;
            tab.find("img.result").await;
            assert_eq!(value_of(&tab, PICTURE).await, link, "it stays in the form of the run");
        }

        // A file of another kind is refused at its field, and nothing is sent.
        let page = folder.path().join("page.png");
        std::fs::write(&page, "<!doctype html><script>alert(1)</script>").expect("a file");
        tab.goto("/playground/imagine").await;
        tab.choose("input[name='/image_urls/0|file']", &page).await;
        tab.press("Run").await;
        tab.see("This request cannot be sent").await;
        tab.see("expected a picture, a film or a sound").await;
        assert_eq!(value_of(&tab, PICTURE).await, "");

        let lines = audited(&gateway, "keepInput").await;
        let statuses: Vec<_> = lines.iter().map(|line| &line["request"]["status"]).collect();
        assert_eq!(statuses, [400, 200, 200], "{lines:?}");
        for line in &lines {
            assert!(line["request"]["who"].as_str().is_some_and(|who| who.starts_with("session ")), "{line}");
            let text = line.to_string();
            assert!(!text.contains("signature") && !text.contains("base64"), "no link and no bytes: {text}");
        }
        let bytes = &lines[1]["request"]["changes"][1];
        assert_eq!(bytes["field"], "bytes", "{bytes}");
        assert_eq!(audited(&gateway, "sendAsKey").await.len(), 4);
        tab.expect_no_problems().await;
        tab.close().await;
    });
}

#[test]
fn a_film_goes_on_as_its_link() {
    run(async {
        let (gateway, tab) = start().await;
        use_result(&tab, "motion").await;
        tab.click("a[href^='/playground/clip?surface=videos.generate']").await;
        let link = value_of(&tab, "#f-video_urls-0").await;
        let (kind, _) = behind(&gateway, &link).await;
        assert_eq!(kind, "video/mp4");
        tab.press("JSON").await;
        let sample = tab.run("return document.getElementById('sample-json').textContent").await;
        let sample: Value = serde_json::from_str(sample.as_str().expect("text")).expect("JSON");
        assert_eq!(sample["video_urls"], serde_json::json!([link]));
        tab.expect_no_problems().await;
        tab.close().await;
    });
}
