//! Every marker, as a client that tries again sees it.

use gatehouse_harness::until;
use std::time::Duration;

use crate::context::MARKERS;
use serde_json::Value;

use crate::tests::client::{JSON, KEY, TestSandbox, call, download, fetch, prompt};

/// What an ordinary client meets: up to three submits, four polls and two downloads.
async fn walk(test: &TestSandbox, text: &str) -> String {
    let mut steps = Vec::new();
    for _ in 0..3 {
        let Some(reply) = test.submit_to("/v1/flux-kontext-pro", &prompt(text)).await else {
            steps.push("submit cut".to_owned());
            break;
        };
        steps.push(format!("submit {}", reply.status));
        if reply.status == 200 {
            match serde_json::from_slice::<Value>(&reply.body) {
                Ok(receipt) => follow(test, receipt["polling_url"].as_str(), &mut steps).await,
                Err(_) => steps.push("garbage".to_owned()),
            }
            break;
        }
    }
    steps.join(", ")
}

/// Polls and downloads.
async fn follow(test: &TestSandbox, polling: Option<&str>, steps: &mut Vec<String>) {
    let Some(polling) = polling.filter(|url| url.starts_with(&test.sandbox.context().poll)) else {
        steps.extend(polling.map(|_| "foreign poll".to_owned()));
        return;
    };
    let mut downloads = 0;
    for _ in 0..4 {
        let reply = fetch(polling).await;
        let Ok(body) = serde_json::from_slice::<Value>(&reply.body) else {
            steps.push(format!("poll {} garbage", reply.status));
            continue;
        };
        let status = body["status"].as_str().expect("a status").to_owned();
        steps.push(format!("poll {} {status}", reply.status));
        match body["result"]["sample"].as_str() {
            Some(sample) => {
                downloads += 1;
                steps.push(download(&test.sandbox.context().delivery, sample).await);
                if downloads == 2 || steps.ends_with(&["file 200 image/png".to_owned()]) {
                    return;
                }
            }
            None if ["Request Moderated", "Content Moderated", "Error"].contains(&status.as_str()) => return,
            None => {}
        }
    }
}

/// Prompts and their steps. `READY` is a poll that finds the job ready, `FILE` a download of its file.
#[rustfmt::skip]
const WALKS: &[(&str, &str)] = &[
    ("a kite", "submit 200, READY, FILE"),
    ("[[unheard-of]]", "submit 200, READY, FILE"),
    ("[[402]]", "submit 402, submit 402, submit 402"),
    ("[[402:1]]", "submit 402, submit 200, READY, FILE"),
    ("[[403]]", "submit 403, submit 403, submit 403"),
    ("[[422]]", "submit 422, submit 422, submit 422"),
    ("[[429]]", "submit 429, submit 429, submit 429"),
    ("[[429:2]]", "submit 429, submit 429, submit 200, READY, FILE"),
    ("[[500]]", "submit 500, submit 500, submit 500"),
    ("[[500:1]][[429:1]]", "submit 500, submit 429, submit 200, READY, FILE"),
    ("[[503-html]]", "submit 503, submit 503, submit 503"),
    ("[[garbage-submit]]", "submit 200, garbage"),
    ("[[submit-cut]]", "submit cut"),
    ("[[foreign-poll]]", "submit 200, foreign poll"),
    ("[[never-ready]]", "submit 200, poll 200 Pending, poll 200 Pending, poll 200 Pending, poll 200 Pending"),
    ("[[first-poll-404]]", "submit 200, LOST, READY, FILE"),
    ("[[poll-404]]", "submit 200, LOST, LOST, LOST, LOST"),
    ("[[poll-500]]", "submit 200, poll 500 garbage, READY, FILE"),
    ("[[poll-500:2]]", "submit 200, poll 500 garbage, poll 500 garbage, READY, FILE"),
    ("[[malformed-json]]", "submit 200, poll 200 garbage, READY, FILE"),
    ("[[unknown-status]]", "submit 200, poll 200 Reasoning, poll 200 Generating, READY, FILE"),
    ("[[unknown-status:3]]", "submit 200, poll 200 Reasoning, poll 200 Generating, poll 200 Warming Up, READY, FILE"),
    ("[[moderated-input]]", "submit 200, poll 200 Request Moderated"),
    ("[[moderated-output]]", "submit 200, poll 200 Content Moderated"),
    ("[[error]]", "submit 200, poll 200 Error"),
    ("[[expired-link]]", "submit 200, READY, file 403 application/xml, READY, FILE"),
    ("[[dead-link]]", "submit 200, READY, file 403 application/xml, READY, file 403 application/xml"),
    ("[[foreign-link]]", "submit 200, READY, file at delivery.foreign.example, READY, file at delivery.foreign.example"),
    ("[[private-link]]", "submit 200, READY, file at 169.254.169.254, READY, file at 169.254.169.254"),
    ("[[wrong-type]]", "submit 200, READY, file 200 text/html, READY, file 200 text/html"),
    ("[[truncated-image]]", "submit 200, READY, FILE cut, READY, FILE cut"),
    ("[[delivery-503]]", "submit 200, READY, file 503 application/xml, READY, FILE"),
    ("[[poll-500]] a kite [[expired-link]]",
     "submit 200, poll 500 garbage, READY, file 403 application/xml, READY, FILE"),
];

#[tokio::test]
async fn markers() {
    let test = TestSandbox::start().await;
    for (text, expected) in WALKS {
        let expected = expected.replace("READY", "poll 200 Ready").replace("FILE", "file 200 image/png");
        let expected = expected.replace("LOST", "poll 404 Task not found");
        // A prompt's submits are counted, so each prompt of the table occurs once.
        assert_eq!(walk(&test, text).await, expected, "{text}");
    }
    for row in MARKERS.iter().filter(|row| !["submit-hang", "slow"].contains(&row.name)) {
        let marker = format!("[[{}]]", row.name);
        assert!(WALKS.iter().any(|(text, _)| *text == marker), "{marker} is not tried");
    }
}

#[tokio::test]
async fn refusals_look_like_the_real_ones() {
    let test = TestSandbox::start().await;
    for (text, mime, retry_after, body) in [
        ("[[402]]", "application/json", "", "{\"detail\":\"Insufficient credits\"}"),
        ("[[403]]", "application/json", "", "{\"detail\":\"Not authenticated - Invalid Authentication\"}"),
        ("[[429]]", "application/json", "1", "{\"detail\":\"Too many requests"),
        ("[[422]]", "application/json", "", "{\"detail\":[{\"ctx\":{\"error\":{}}"),
        ("[[500]]", "text/plain; charset=utf-8", "", "Internal Server Error"),
        ("[[503-html]]", "text/html", "", "<html>"),
    ] {
        let reply = test.submit(&prompt(text)).await;
        assert_eq!(
            (reply.header("content-type"), reply.header("retry-after")),
            (mime, retry_after),
            "{text}"
        );
        assert!(reply.text().starts_with(body), "{text}: {}", reply.text());
    }
}

#[tokio::test]
async fn failed_jobs_give_a_reason() {
    let test = TestSandbox::start().await;
    for (text, pointer, expected) in [
        ("[[moderated-input]]", "/details/Moderation Reasons/0", "Safety Filter"),
        ("[[moderated-output]]", "/details/Moderation Reasons/0", "Safety Filter"),
        ("[[error]]", "/details/error", "Generation failed"),
    ] {
        let body = fetch(&test.accepted(&prompt(text)).await).await.json();
        assert_eq!(body.pointer(pointer).and_then(Value::as_str), Some(expected), "{body}");
        assert!(body["result"].is_null());
    }
}

#[tokio::test]
async fn slow_jobs() {
    let test = TestSandbox::start().await;
    let polling = test.accepted(&prompt("[[slow:5000]]")).await;
    for (ms, status) in [(0, "Pending"), (4999, "Pending"), (1, "Ready")] {
        test.advance(Duration::from_millis(ms));
        assert_eq!(fetch(&polling).await.json()["status"], status);
    }
}

#[tokio::test]
async fn a_hung_submit_is_accepted_and_does_not_delay_the_stop() {
    let test = TestSandbox::start().await;
    let url = test.submit_url("/v1/flux-kontext-pro");
    let waiting = tokio::spawn(async move {
        call("POST", &url, &[("x-key", KEY), JSON], prompt("[[submit-hang]]").to_string()).await.is_none()
    });
    until("the provider has the job", async || test.sandbox.context_record().accepted > 0).await;
    assert!(!test.sandbox.context_record().submits[0].answered);
    assert!(!waiting.is_finished());
    test.sandbox.stop().await;
    assert!(waiting.await.expect("ends"), "no reply ever came");
}
