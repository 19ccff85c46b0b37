//! Every marker, as a client that tries again sees it.

use gatehouse_harness::until;
use std::time::Duration;

use crate::midjourney::MARKERS;
use serde_json::{Value, json};

use super::proxy::{RUN, accepted, imagine, post, press, read, recorded, shown, submit};
use crate::tests::client::{JSON, KEY, TestSandbox, call, download};

/// What an ordinary client meets: up to three submits, four reads and two downloads.
async fn walk(test: &TestSandbox, prompt: &str) -> String {
    let mut steps = Vec::new();
    for _ in 0..3 {
        let Some(reply) = post(test, "/mj/submit/imagine", &json!({ "prompt": prompt })).await else {
            steps.push("cut".to_owned());
            break;
        };
        let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        match (answer["code"].as_i64(), answer["result"].as_str()) {
            (Some(code), Some(id)) => {
                steps.push(format!("code {code}"));
                follow(test, id, &mut steps).await;
                break;
            }
            (Some(code), None) => steps.push(format!("code {code}")),
            (None, _) => steps.push(format!("http {}", reply.status)),
        }
    }
    steps.join(", ")
}

async fn follow(test: &TestSandbox, id: &str, steps: &mut Vec<String>) {
    let mut downloads = 0;
    for _ in 0..4 {
        let reply = read(test, id).await;
        let Ok(task) = serde_json::from_slice::<Value>(&reply.body) else {
            steps.push(format!(
                "read {} {}",
                reply.status,
                if reply.body.is_empty() { "empty" } else { "garbage" }
            ));
            continue;
        };
        let status = task["status"].as_str().unwrap_or("null").to_owned();
        let progress = task["progress"].as_str().unwrap_or("null").to_owned();
        steps.push(format!("{status} {progress}"));
        if let Some(link) = task["imageUrl"].as_str().filter(|_| status == "SUCCESS") {
            downloads += 1;
            steps.push(download(&test.sandbox.midjourney().files, link).await);
            if downloads == 2 || steps.ends_with(&["file 200 image/png".to_owned()]) {
                return;
            }
        } else if ["FAILURE", "CANCEL", "SUCCESS"].contains(&status.as_str()) {
            steps.push(task["failReason"].as_str().unwrap_or("null").chars().take(20).collect());
            return;
        }
    }
}

/// Prompts and their steps. `READY` is a read that finds the task done and a whole picture.
#[rustfmt::skip]
const WALKS: &[(&str, &str)] = &[
    ("a kite", "code 1, READY"),
    ("[[unheard-of]]", "code 1, READY"),
    ("[[3]]", "code 3, code 3, code 3"),
    ("[[3:2]]", "code 3, code 3, code 1, READY"),
    ("[[4]]", "code 4, code 4, code 4"),
    ("[[9]]", "code 9, code 9, code 9"),
    ("[[23]]", "code 23, code 23, code 23"),
    ("[[24]]", "code 24, code 24, code 24"),
    ("[[-1]]", "code -1, code -1, code -1"),
    ("[[401]]", "http 401, http 401, http 401"),
    ("[[403]]", "http 403, http 403, http 403"),
    ("[[429]]", "http 429, http 429, http 429"),
    ("[[500]]", "http 500, http 500, http 500"),
    ("[[503-html]]", "http 503, http 503, http 503"),
    ("[[500:1]][[9:1]]", "http 500, code 9, code 1, READY"),
    ("[[21]]", "code 1, READY"),
    ("[[22]]", "code 22, READY"),
    ("[[no-id]]", "code 1, code 1, code 1"),
    ("[[garbage-submit]]", "http 200, http 200, http 200"),
    ("[[submit-cut]]", "cut"),
    ("[[never-ready]]", "code 1, IN_PROGRESS 35%, IN_PROGRESS 35%, IN_PROGRESS 35%, IN_PROGRESS 35%"),
    ("[[lost]]", "code 1, read 200 empty, null null, read 204 empty, read 200 empty"),
    ("[[poll-500]]", "code 1, read 500 garbage, READY"),
    ("[[malformed-json:2]]", "code 1, read 200 garbage, read 200 garbage, READY"),
    ("[[malformed-json]]", "code 1, read 200 garbage, READY"),
    ("[[unknown-status]]", "code 1, PREPARING 100%, RENDERING 100%, READY"),
    ("[[empty-status]]", "code 1,  null,  null, READY"),
    ("[[banned-word]]", "code 1, FAILURE , 可能包含敏感词"),
    ("[[banned-prompt]]", "code 1, FAILURE , [Banned prompt detec"),
    ("[[run-timeout]]", "code 1, FAILURE , 执行超时 5 分钟"),
    ("[[task-timeout]]", "code 1, FAILURE , 任务超时"),
    ("[[submit-timeout]]", "code 1, FAILURE , 任务提交超时"),
    ("[[invalid-parameter]]", "code 1, FAILURE , [Invalid parameter] "),
    ("[[invalid-link]]", "code 1, FAILURE , [Invalid link] Could"),
    ("[[image-denied]]", "code 1, FAILURE , [Image denied] One o"),
    ("[[engine-error]]", "code 1, FAILURE , [Internal Server Err"),
    ("[[output-filter]]", "code 1, FAILURE , Request cancelled du"),
    ("[[not-processed]]", "code 1, FAILURE , Failed to process yo"),
    ("[[no-reason]]", "code 1, FAILURE , null"),
    ("[[cancelled]]", "code 1, CANCEL , null"),
    ("[[links]]", "code 1, READY"),
    ("[[no-picture]]", "code 1, SUCCESS 100%, null"),
    ("[[no-buttons]]", "code 1, READY"),
    ("[[progress-null]][[never-ready]]", "code 1, IN_PROGRESS null, IN_PROGRESS null, IN_PROGRESS null, IN_PROGRESS null"),
    ("[[odd-progress]][[never-ready]]", "code 1, IN_PROGRESS (35%) (fast), IN_PROGRESS 62, IN_PROGRESS paused, IN_PROGRESS Waiting to start"),
    ("[[dead-link]]", "code 1, SUCCESS 100%, file 404 text/plain, SUCCESS 100%, file 404 text/plain"),
    ("[[foreign-link]]", "code 1, SUCCESS 100%, file at cdn.foreign.example, SUCCESS 100%, file at cdn.foreign.example"),
    ("[[private-link]]", "code 1, SUCCESS 100%, file at 169.254.169.254, SUCCESS 100%, file at 169.254.169.254"),
    ("[[wrong-type]]", "code 1, SUCCESS 100%, file 200 text/html, SUCCESS 100%, file 200 text/html"),
    ("[[truncated-file]]", "code 1, SUCCESS 100%, file 200 image/png cut, SUCCESS 100%, file 200 image/png cut"),
    ("[[delivery-503]]", "code 1, SUCCESS 100%, file 503 text/html, READY"),
    ("[[later:1]][[3]]", "code 1, READY"),
];

#[tokio::test]
async fn markers() {
    let test = TestSandbox::start().await;
    for (prompt, expected) in WALKS {
        let expected = expected.replace("READY", "SUCCESS 100%, file 200 image/png");
        // A prompt's submits are counted, so each prompt of the table occurs once.
        assert_eq!(walk(&test, prompt).await, expected, "{prompt}");
    }
    for row in MARKERS.iter().filter(|row| !["submit-hang", "slow"].contains(&row.name)) {
        let marker = if row.name == "later" { "[[later:1]]".to_owned() } else { format!("[[{}]]", row.name) };
        assert!(WALKS.iter().any(|(text, _)| text.contains(&marker)), "{marker} is not tried");
    }
}

#[tokio::test]
async fn markers_reach_follow_ups_and_later_spares_the_first_steps() {
    let test = TestSandbox::start().await;
    let grid = imagine(&test, "a kite --v 7 [[later:2]] [[24]]").await;
    let up = press(&test, &grid, "MJ::JOB::upsample::1").await;
    let custom_id = super::proxy::button(&test, &up, "MJ::Inpaint").await;
    assert_eq!(submit(&test, "action", &json!({ "taskId": up, "customId": custom_id })).await["code"], 24);
    let grid = imagine(&test, "a kite [[later:1]] [[banned-prompt]]").await;
    assert_eq!(shown(&test, &grid).await["status"], "SUCCESS");
    let up = press(&test, &grid, "MJ::JOB::upsample::1").await;
    assert_eq!(shown(&test, &up).await["status"], "FAILURE");
}

#[tokio::test]
async fn slow_tasks_and_hung_submits() {
    let test = TestSandbox::with(|settings| settings.job_time = RUN).await;
    let id = accepted(&test, "imagine", &json!({ "prompt": "[[slow:5000]]" })).await;
    for (ms, status) in [(4999, "IN_PROGRESS"), (1, "SUCCESS")] {
        test.advance(Duration::from_millis(ms));
        assert_eq!(shown(&test, &id).await["status"], status);
    }
    let url = super::proxy::url(&test, "/mj/submit/imagine");
    let waiting = tokio::spawn(async move {
        let headers = [("mj-api-secret", KEY), JSON];
        call("POST", &url, &headers, "{\"prompt\":\"[[submit-hang]]\"}").await.is_none()
    });
    until("the provider has both", async || test.sandbox.midjourney_record().tasks.len() >= 2).await;
    let hung = test.sandbox.midjourney_record().tasks[1].clone();
    assert!(!recorded(&test, &hung.id).answered && !waiting.is_finished());
    test.sandbox.stop().await;
    assert!(waiting.await.expect("ends"), "no reply ever came");
}
