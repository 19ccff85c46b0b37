//! Every marker, as a client that tries again sees it.

use std::time::Duration;

use gatehouse_sandbox::context::MARKERS;
use serde_json::Value;

use crate::client::{JSON, KEY, TestSandbox, call, fetch, prompt};

/// What an ordinary client meets: up to three submits, four polls and two downloads.
async fn walk(test: &TestSandbox, text: &str) -> String {
    let mut steps = Vec::new();
    let mut polling = None;
    for _ in 0..3 {
        let url = test.submit_url("/v1/flux-kontext-pro");
        let body = prompt(text).to_string();
        let Ok(reply) = call(http::Method::POST, &url, &[("x-key", KEY), JSON], body).await else {
            steps.push("submit cut".to_owned());
            break;
        };
        steps.push(format!("submit {}", reply.status.as_u16()));
        if reply.status == 200 {
            match serde_json::from_slice::<Value>(&reply.body) {
                Ok(receipt) => polling = receipt["polling_url"].as_str().map(str::to_owned),
                Err(_) => steps.push("garbage".to_owned()),
            }
            break;
        }
    }
    if let Some(polling) = polling {
        follow(test, &polling, &mut steps).await;
    }
    steps.join(", ")
}

/// Polls and downloads.
async fn follow(test: &TestSandbox, polling: &str, steps: &mut Vec<String>) {
    if !polling.starts_with(&test.sandbox.context().poll) {
        steps.push("foreign poll".to_owned());
        return;
    }
    let mut downloads = 0;
    for _ in 0..4 {
        let reply = fetch(polling).await;
        let Ok(body) = serde_json::from_slice::<Value>(&reply.body) else {
            steps.push(format!("poll {} garbage", reply.status.as_u16()));
            continue;
        };
        let status = body["status"].as_str().expect("a status").to_owned();
        steps.push(format!("poll {} {status}", reply.status.as_u16()));
        match body["result"]["sample"].as_str() {
            Some(sample) => {
                downloads += 1;
                let step = download(test, sample).await;
                let done = step == "file 200 image/png" || downloads == 2;
                steps.push(step);
                if done {
                    return;
                }
            }
            None if ["Request Moderated", "Content Moderated", "Error"].contains(&status.as_str()) => return,
            None => {}
        }
    }
}

async fn download(test: &TestSandbox, sample: &str) -> String {
    if !sample.starts_with(&test.sandbox.context().delivery) {
        let host = sample.split('/').nth(2).expect("a host");
        return format!("file at {host}");
    }
    let reply = fetch(sample).await;
    let cut = if reply.cut { " cut" } else { "" };
    format!("file {} {}{cut}", reply.status.as_u16(), reply.header("content-type"))
}

const WELL: &str = "submit 200, poll 200 Ready, file 200 image/png";
const PENDING: &str = "poll 200 Pending, poll 200 Pending, poll 200 Pending, poll 200 Pending";
const LOST: &str =
    "poll 404 Task not found, poll 404 Task not found, poll 404 Task not found, poll 404 Task not found";
const FOREIGN: &str = "file at delivery.foreign.example, poll 200 Ready, file at delivery.foreign.example";
const PRIVATE: &str = "file at 169.254.169.254, poll 200 Ready, file at 169.254.169.254";
const DEAD: &str = "file 403 application/xml, poll 200 Ready, file 403 application/xml";
const CUT: &str = "file 200 image/png cut, poll 200 Ready, file 200 image/png cut";
const HTML: &str = "file 200 text/html, poll 200 Ready, file 200 text/html";

#[tokio::test]
async fn markers() {
    let test = TestSandbox::start().await;
    let after = |receipt: &str, rest: &str| format!("{receipt}, {rest}");
    let ready = |rest: &str| format!("submit 200, poll 200 Ready, {rest}");
    let polled = |first: &str| format!("submit 200, {first}, poll 200 Ready, file 200 image/png");
    let table = [
        ("a kite", WELL.to_owned()),
        ("[[unheard-of]]", WELL.to_owned()),
        ("[[402]]", "submit 402, submit 402, submit 402".to_owned()),
        ("[[402:1]]", after("submit 402", WELL)),
        ("[[403]]", "submit 403, submit 403, submit 403".to_owned()),
        ("[[422]]", "submit 422, submit 422, submit 422".to_owned()),
        ("[[429]]", "submit 429, submit 429, submit 429".to_owned()),
        ("[[429:2]]", after("submit 429, submit 429", WELL)),
        ("[[500]]", "submit 500, submit 500, submit 500".to_owned()),
        ("[[500:1]][[429:1]]", after("submit 500, submit 429", WELL)),
        ("[[503-html]]", "submit 503, submit 503, submit 503".to_owned()),
        ("[[garbage-submit]]", "submit 200, garbage".to_owned()),
        ("[[submit-cut]]", "submit cut".to_owned()),
        ("[[foreign-poll]]", "submit 200, foreign poll".to_owned()),
        ("[[never-ready]]", after("submit 200", PENDING)),
        ("[[first-poll-404]]", polled("poll 404 Task not found")),
        ("[[poll-404]]", after("submit 200", LOST)),
        ("[[poll-500]]", polled("poll 500 garbage")),
        ("[[poll-500:2]]", polled("poll 500 garbage, poll 500 garbage")),
        ("[[malformed-json]]", polled("poll 200 garbage")),
        ("[[unknown-status]]", polled("poll 200 Reasoning, poll 200 Generating")),
        ("[[unknown-status:3]]", polled("poll 200 Reasoning, poll 200 Generating, poll 200 Warming Up")),
        ("[[moderated-input]]", "submit 200, poll 200 Request Moderated".to_owned()),
        ("[[moderated-output]]", "submit 200, poll 200 Content Moderated".to_owned()),
        ("[[error]]", "submit 200, poll 200 Error".to_owned()),
        ("[[expired-link]]", ready("file 403 application/xml, poll 200 Ready, file 200 image/png")),
        ("[[dead-link]]", ready(DEAD)),
        ("[[foreign-link]]", ready(FOREIGN)),
        ("[[private-link]]", ready(PRIVATE)),
        ("[[wrong-type]]", ready(HTML)),
        ("[[truncated-image]]", ready(CUT)),
        ("[[delivery-503]]", ready("file 503 application/xml, poll 200 Ready, file 200 image/png")),
        (
            "[[poll-500]] a kite [[expired-link]]",
            polled("poll 500 garbage, poll 200 Ready, file 403 application/xml"),
        ),
    ];
    for (text, expected) in &table {
        // A prompt's submits are counted, so each prompt of the table occurs once.
        assert_eq!(&walk(&test, text).await, expected, "{text}");
    }
    let elsewhere = ["[[submit-hang]]", "[[slow:MS]]"];
    for (marker, _) in MARKERS {
        let tried = table.iter().any(|(text, _)| text == marker) || elsewhere.contains(marker);
        assert!(tried, "{marker} is not tried");
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
async fn endings_say_why() {
    let test = TestSandbox::start().await;
    for (text, pointer, expected) in [
        ("[[moderated-input]]", "/details/Moderation Reasons/0", "Safety Filter"),
        ("[[moderated-output]]", "/details/Moderation Reasons/0", "Safety Filter"),
        ("[[error]]", "/details/error", "Generation failed"),
    ] {
        let polling = test.accepted(&prompt(text)).await;
        let body = fetch(&polling).await.json();
        assert_eq!(body.pointer(pointer).and_then(Value::as_str), Some(expected), "{body}");
        assert!(body["result"].is_null());
    }
}

#[tokio::test]
async fn slow_jobs() {
    let test = TestSandbox::start().await;
    let polling = test.accepted(&prompt("[[slow:5000]]")).await;
    assert_eq!(fetch(&polling).await.json()["status"], "Pending");
    test.advance(Duration::from_millis(4999));
    assert_eq!(fetch(&polling).await.json()["status"], "Pending");
    test.advance(Duration::from_millis(1));
    assert_eq!(fetch(&polling).await.json()["status"], "Ready");
}

#[tokio::test]
async fn a_hung_submit_is_accepted_and_does_not_hold_up_the_end() {
    let test = TestSandbox::start().await;
    let url = test.submit_url("/v1/flux-kontext-pro");
    let waiting = tokio::spawn(async move {
        let body = prompt("[[submit-hang]]").to_string();
        call(http::Method::POST, &url, &[("x-key", KEY), JSON], body).await.is_err()
    });
    while test.sandbox.context_record().accepted == 0 {
        tokio::task::yield_now().await;
    }
    assert!(!test.sandbox.context_record().submits[0].answered);
    assert!(!waiting.is_finished());
    test.sandbox.stop().await;
    assert!(waiting.await.expect("ends"), "no reply ever came");
}
