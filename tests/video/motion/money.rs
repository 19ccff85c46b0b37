//! What a video costs: seconds times the price of its resolution; a failed one costs nothing.

use std::time::Duration;

use gatehouse_harness::run;
use gatehouse_sandbox::Settings;
use serde_json::json;

use super::{text26, text27};
use crate::video::TestGateway;

#[test]
fn a_second_costs_by_model_and_resolution() {
    run(async {
        let prices = "[prices]\n\"motion-2.6\" = \"3\"\n\"motion-2.6@1080p\" = \"5\"\n\"motion-2.7\" = \"7\"\n\
                      \"motion-2.7@1080p\" = \"11\"\n";
        let gateway = TestGateway::start_with(prices).await;
        let image = gateway.sample("512x512.png");
        let clip = gateway.sample("640x480-3s.mp4");
        let mut total = 0.0;
        for (body, cost) in [
            (text26(json!({})), 5.0 * 3.0),
            (text26(json!({"duration": 10, "resolution": "1080p"})), 10.0 * 5.0),
            (json!({"model": "motion-2.6", "image_urls": [image], "duration": 15}), 15.0 * 3.0),
            (json!({"model": "motion-2.6", "image_urls": [image], "template": "melt"}), 5.0 * 3.0),
            (text27(json!({})), 5.0 * 11.0),
            (text27(json!({"duration": 15, "resolution": "720P"})), 15.0 * 7.0),
            // "Billing is identical" (spec): the whole length counts.
            (json!({"model": "motion-2.7", "video_urls": [clip], "duration": 6}), 6.0 * 11.0),
            (text27(json!({"prompt": "[[error]]"})), 0.0),
            (text26(json!({"prompt": "[[inspection]]"})), 0.0),
        ] {
            let task = gateway.finish(&body).await;
            assert_eq!(task["cost"], cost, "{body}: {task}");
            total += cost;
        }
        let account = gateway.process.account("acme").await;
        assert_eq!((account["spent"].as_f64(), &account["reserved"]), (Some(total * 1e6), &json!(0)));
        gateway.process.expect_sound_ledger().await;
    });
}

#[test]
fn progress_is_synthesised_and_never_falls() {
    run(async {
        let settings = Settings { job_time: Duration::from_secs(2), ..Settings::default() };
        let gateway = TestGateway::start_over(settings, "").await;
        let id = gateway.submit(&text27(json!({}))).await.task_id();
        let mut seen: Vec<(i64, String)> = Vec::new();
        loop {
            let task = gateway.caller.task(&id).await;
            let now = (
                task["progress"].as_i64().expect("a number"),
                task["status"].as_str().expect("text").to_owned(),
            );
            let is_over = now.1 == "completed";
            if seen.last() != Some(&now) {
                seen.push(now);
            }
            if is_over {
                break;
            }
        }
        assert!(seen.is_sorted_by_key(|(progress, _)| *progress), "{seen:?}");
        let statuses: Vec<&str> = seen.iter().map(|(_, status)| status.as_str()).collect();
        let order = ["submitted", "pending", "processing", "completed"];
        assert!(
            statuses.is_sorted_by_key(|status| order.iter().position(|known| known == status)),
            "{seen:?}"
        );
        for expected in [(5, "pending"), (10, "processing"), (100, "completed")] {
            assert!(
                seen.iter().any(|(progress, status)| (*progress, status.as_str()) == expected),
                "{seen:?}"
            );
        }
    });
}
