//! The lines of `plugins/README.md`, pasted: the block of each family on one fresh gateway. What a reader has is there: a key, the
//! samples, a picture of their own, and an avatar in the place of the one that the page has no id of.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use gatehouse_harness::{Caller, run, send_to};
use serde_json::json;

use crate::clients::fresh::Fresh;
use crate::clients::recipes::recipes;

const PAGE: &str = "plugins/README.md";
/// The headings with lines, and how many tasks or files each must name.
const BLOCKS: [(&str, usize); 5] = [
    ("imagine", 2),
    ("motion", 8),
    ("clip, and avatar assets", 3),
    ("scene, and its continuation", 4),
    ("journey", 6),
];

/// An avatar that its customer may use, as `asset://...`.
async fn avatar(caller: &Caller, samples: &str) -> String {
    let body = json!({"url": format!("{samples}/800x600.png"), "name": "face"});
    let receipt = caller.post("/v1/clip2/private-avatar", &body).await.json();
    let task = caller.end_of(receipt["data"]["id"].as_str().expect("an id")).await;
    task["result"]["asset_url"].as_str().unwrap_or_else(|| panic!("no asset: {task}")).to_owned()
}

/// The tasks that a text names.
fn tasks(printed: &str) -> BTreeSet<&str> {
    let words = printed.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("task_0")).collect()
}

#[test]
fn every_line_of_the_families_page_works() {
    run(async {
        let fresh = Fresh::start_with("[sandbox]\njob_ms = 100\n").await;
        let samples = fresh.gateway.printed_after("SAMPLES=").await;
        let (key, caller) = (fresh.key("wrapped"), fresh.gateway.caller(&fresh.key("wrapped")));
        let picture = send_to(&format!("{samples}/640x480.jpeg"), &[]).await;
        fresh.write("lighthouse.jpg", &picture.body);
        let page = fresh.page(PAGE);
        let page = page.replace("asset://asset-...\"]", &format!("{}\"]", avatar(&caller, &samples).await));
        let page = page.replace("https://example.com/face.png", &format!("{samples}/800x600.png"));

        let blocks = recipes(&page, &["sh"]);
        let headings: Vec<&str> = blocks.iter().map(|block| block.heading).collect();
        assert_eq!(headings, BLOCKS.map(|(heading, _)| heading));
        let set = format!("KEY={key}\nSAMPLES={samples}\n");
        let lines: Vec<String> = blocks.iter().map(|block| format!("{set}{}", block.code)).collect();
        let outputs = join_all(lines.iter().map(|lines| fresh.shell(lines, &[], ""))).await;
        for ((heading, least), printed) in BLOCKS.iter().zip(&outputs) {
            assert!(!printed.contains("\"error\":{"), "{heading}: {printed}");
            let (tasks, files) = (tasks(printed), printed.matches("-rw").count());
            assert!(tasks.len() + files >= *least, "{heading}: {printed}");
            for id in tasks {
                let task = caller.end_of(id).await;
                assert_eq!(task["status"], "completed", "{heading}: {task}");
            }
        }
        fresh.gateway.expect_sound_ledger().await;
    });
}
