//! Files and results as inputs of requests: kept, linked, sent, and told in the audit record.

use gatehouse_harness::{Gateway, run, send};
use serde_json::Value;

use super::{audited, start};
use crate::console::accessibility::Axe;
use crate::console::browser::Tab;

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
    tab.click("[data-runs]").await;
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
        tab.click("[data-runs]").await;
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
            tab.click("[data-runs]").await;
            tab.see("completed").await;
            tab.find("img.result").await;
            assert_eq!(value_of(&tab, PICTURE).await, link, "it stays in the form of the run");
        }

        // A file of another kind is refused at its field, and nothing is sent.
        let page = folder.path().join("page.png");
        std::fs::write(&page, "<!doctype html><script>alert(1)</script>").expect("a file");
        tab.goto("/playground/imagine").await;
        tab.choose("input[name='/image_urls/0|file']", &page).await;
        tab.click("[data-runs]").await;
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

/// The field of a picture in the list of pictures with their roles.
fn of_row(row: usize, field: &str) -> String {
    format!("#f-image_with_roles-{row}-{field}")
}

/// Gives the picture of that row a role.
async fn choose_role(tab: &Tab, row: usize, role: &str) {
    tab.click(&format!("{} option[value='\"{role}\"']", of_row(row, "role"))).await;
}

/// The request that the page shows.
async fn shown_request(tab: &Tab) -> Value {
    drop(tab.find("#sample-json").await);
    let sample = tab.run("return document.getElementById('sample-json').textContent").await;
    serde_json::from_str(sample.as_str().expect("text")).expect("JSON")
}

#[test]
fn objects_in_a_list_take_results_and_files() {
    run(async {
        let (gateway, tab) = start().await;
        use_result(&tab, "context-image").await;
        tab.see("image_with_roles.url").await;
        let axe = Axe::ready();
        assert_eq!(axe.violations(&tab).await, [""; 0], "the fields to choose from");
        tab.click("a[href^='/playground/clip?surface=videos.generate'][href*='image_with_roles']").await;
        let first = value_of(&tab, &of_row(0, "url")).await;
        let (kind, bytes) = behind(&gateway, &first).await;
        assert!(kind.starts_with("image/") && !bytes.is_empty(), "{kind}");
        choose_role(&tab, 0, "first_frame").await;
        tab.click("button[name='more'][value='/image_with_roles']").await;
        drop(tab.find(&of_row(1, "url")).await);
        assert_eq!(axe.violations(&tab).await, [""; 0], "rows of objects");
        assert_eq!(value_of(&tab, &of_row(0, "url")).await, first, "it stays when a row is added");

        let folder = tempfile::tempdir().expect("a folder");
        let picture = folder.path().join("last.png");
        std::fs::write(&picture, &bytes).expect("a file");
        tab.choose("input[name='/image_with_roles/1/url|file']", &picture).await;
        tab.press("Dry run").await;
        // A row without a role is refused at its field, and its file is kept all the same.
        drop(tab.find(&of_row(1, "role-problem")).await);
        assert_eq!(axe.violations(&tab).await, [""; 0], "what is wrong in a row");
        let last = value_of(&tab, &of_row(1, "url")).await;
        assert_eq!(behind(&gateway, &last).await, (kind, bytes));
        choose_role(&tab, 1, "last_frame").await;
        tab.click("[data-runs]").await;
        tab.see("completed").await;
        tab.find("video.result").await;
        let rows =
            serde_json::json!([{"url": first, "role": "first_frame"}, {"url": last, "role": "last_frame"}]);
        assert_eq!(shown_request(&tab).await["image_with_roles"], rows);
        tab.expect_no_problems().await;
        tab.close().await;
    });
}

#[test]
fn objects_in_a_list_take_files_without_scripts() {
    run(async {
        let (gateway, tab) = start().await;
        use_result(&tab, "context-image").await;
        let form = "a[href^='/playground/clip?surface=videos.generate'][href*='image_with_roles']";
        let script = format!("return document.querySelector(\"{form}\").href");
        let form = tab.run(&script).await.as_str().expect("an address").to_owned();
        tab.stop_scripts().await;
        tab.goto_raw(&form).await;
        let first = value_of(&tab, &of_row(0, "url")).await;
        let (kind, bytes) = behind(&gateway, &first).await;
        assert!(tab.run("return document.body.dataset.ready === undefined").await == Value::Bool(true));
        choose_role(&tab, 0, "first_frame").await;
        tab.click("button[name='more'][value='/image_with_roles']").await;
        let folder = tempfile::tempdir().expect("a folder");
        let picture = folder.path().join("last.png");
        std::fs::write(&picture, &bytes).expect("a file");
        tab.choose("input[name='/image_with_roles/1/url|file']", &picture).await;
        choose_role(&tab, 1, "last_frame").await;
        tab.press("Dry run").await;
        tab.see("Nothing was made.").await;
        let last = value_of(&tab, &of_row(1, "url")).await;
        assert_eq!(behind(&gateway, &last).await, (kind, bytes));
        let rows =
            serde_json::json!([{"url": first, "role": "first_frame"}, {"url": last, "role": "last_frame"}]);
        assert_eq!(shown_request(&tab).await["image_with_roles"], rows);
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
        assert_eq!(shown_request(&tab).await["video_urls"], serde_json::json!([link]));
        tab.expect_no_problems().await;
        tab.close().await;
    });
}
