//! Every marker, as a client that calls twice and downloads twice sees it.

use gatehouse_harness::until;
use std::time::Duration;

use crate::imagine::MARKERS;
use serde_json::{Value, json};

use super::{GENERATIONS, post, prompt, try_post};
use crate::tests::client::{End, JSON, TestSandbox, call, decoded, fetch};

/// Up to two calls for two images each, and two downloads of each link.
async fn walk(test: &TestSandbox, text: &str) -> String {
    let mut steps = Vec::new();
    let mut body = prompt(text);
    body["n"] = json!(2);
    for _ in 0..2 {
        let Some(reply) = try_post(test, GENERATIONS, &body).await else {
            steps.push("cut".to_owned());
            break;
        };
        if reply.status != 200 {
            steps.push(reply.status.to_string());
            continue;
        }
        match serde_json::from_slice::<Value>(&reply.body) {
            Ok(answer) => {
                steps.push("200".to_owned());
                for item in answer["data"].as_array().into_iter().flatten() {
                    steps.push(follow(test, item).await);
                }
                steps.extend(answer["block_reason"].as_str().map(|_| "blocked".to_owned()));
            }
            Err(_) => steps.push("garbage".to_owned()),
        }
        break;
    }
    steps.join(", ")
}

async fn follow(test: &TestSandbox, item: &Value) -> String {
    if item["respect_moderation"] == false {
        assert!(item.get("url").is_none(), "{item}");
        return "filtered".to_owned();
    }
    if let Some(text) = item["b64_json"].as_str() {
        return if text.starts_with("data:image/jpeg;base64,") { "data URI" } else { "base64" }.to_owned();
    }
    let url = item["url"].as_str().expect("a link");
    if !url.starts_with(&test.sandbox.imagine().files) {
        return format!("at {}", url.split('/').nth(2).expect("a host"));
    }
    let mut downloads = Vec::new();
    for _ in 0..2 {
        let reply = fetch(url).await;
        if reply.status == 200 && reply.end == End::Whole && reply.header("content-type") == "image/jpeg" {
            decoded(&reply.body);
            downloads.push("file".to_owned());
            break;
        }
        let cut = if reply.end == End::Whole { "" } else { " cut" };
        downloads.push(format!("{} {}{cut}", reply.status, reply.header("content-type")));
    }
    downloads.join(" then ")
}

/// Prompts and their steps.
#[rustfmt::skip]
const WALKS: &[(&str, &str)] = &[
    ("a kite", "200, file, file"),
    ("[[unheard-of]]", "200, file, file"),
    ("[[400-key]]", "400, 400"),
    ("[[400-key:1]]", "400, 200, file, file"),
    ("[[400-prompt]]", "400, 400"),
    ("[[400-fetch]]", "400, 400"),
    ("[[400-nested]]", "400, 400"),
    ("[[moderated]]", "400, 400"),
    ("[[moderated-old]]", "400, 400"),
    ("[[401]]", "401, 401"),
    ("[[403]]", "403, 403"),
    ("[[403-credits]]", "403, 403"),
    ("[[403-content]]", "403, 403"),
    ("[[404]]", "404, 404"),
    ("[[422]]", "422, 422"),
    ("[[429]]", "429, 429"),
    ("[[429:1]]", "429, 200, file, file"),
    ("[[429-credits]]", "429, 429"),
    ("[[500]]", "500, 500"),
    ("[[500:1]][[503:1]]", "500, 503"),
    ("[[502-html]]", "502, 502"),
    ("[[503]]", "503, 503"),
    ("[[cut]]", "cut"),
    ("[[garbage]]", "garbage"),
    ("[[blocked-input]]", "200, blocked"),
    ("[[empty]]", "200"),
    ("[[filtered:0]]", "200, file, file"),
    ("[[filtered:1]]", "200, filtered, file"),
    ("[[filtered:2]]", "200, filtered, filtered"),
    ("[[filtered:9]]", "200, filtered, filtered"),
    ("[[filtered-all]]", "200, filtered, filtered"),
    ("[[b64]]", "200, base64, base64"),
    ("[[b64-head]]", "200, data URI, data URI"),
    ("[[dead-link]]", "200, 404 text/plain then 404 text/plain, 404 text/plain then 404 text/plain"),
    ("[[one-dead-link]]", "200, 404 text/plain then 404 text/plain, file"),
    ("[[foreign-link]]", "200, at imgen.foreign.example, at imgen.foreign.example"),
    ("[[private-link]]", "200, at 169.254.169.254, at 169.254.169.254"),
    ("[[wrong-type]]", "200, 200 text/html then 200 text/html, 200 text/html then 200 text/html"),
    ("[[truncated-image]]", "200, 200 image/jpeg cut then 200 image/jpeg cut, 200 image/jpeg cut then 200 image/jpeg cut"),
    ("[[file-503]]", "200, 503 text/plain then file, 503 text/plain then file"),
];

#[tokio::test]
async fn markers() {
    let test = TestSandbox::start().await;
    for (text, expected) in WALKS {
        // A prompt's calls are counted, so each prompt of the table occurs once.
        assert_eq!(walk(&test, text).await, *expected, "{text}");
    }
    for row in MARKERS.iter().filter(|row| !["hang", "slow"].contains(&row.name)) {
        let is_tried = WALKS.iter().any(|(text, _)| text.starts_with(&format!("[[{}", row.name)));
        assert!(is_tried, "{} is not tried", row.name);
    }
}

#[tokio::test]
async fn refusals_look_like_the_real_ones() {
    let test = TestSandbox::start().await;
    for (text, mime, body) in [
        ("[[400-key]]", "application/json", "{\"code\":\"invalid-argument\",\"error\":\"Incorrect API key"),
        (
            "[[moderated]]",
            "application/json",
            "{\"code\":\"imagine:content-moderated\",\"error\":\"Generated image",
        ),
        (
            "[[moderated-old]]",
            "application/json",
            "{\"code\":\"Client specified an invalid argument\",\"error\":\"Gen",
        ),
        ("[[401]]", "application/json", "{\"code\":\"unauthenticated\",\"error\":\""),
        ("[[403]]", "application/json", "{\"code\":\"permission-denied\",\"error\":\"The API key is blocked"),
        ("[[403-credits]]", "application/json", "{\"code\":\"permission-denied\",\"error\":\"Your team has"),
        (
            "[[403-content]]",
            "application/json",
            "{\"code\":\"permission-denied\",\"error\":\"Content violates",
        ),
        ("[[429-credits]]", "application/json", "{\"code\":\"resource-exhausted\",\"error\":\"Your team has"),
        ("[[400-nested]]", "application/json", "{\"error\":{\"code\":\"invalid-argument\",\"message\":\""),
        ("[[404]]", "application/json", "{\"error\":\"The model '"),
        ("[[422]]", "text/plain; charset=utf-8", "Failed to deserialize the JSON body"),
        ("[[502-html]]", "text/html", "<html>"),
    ] {
        let reply = post(&test, GENERATIONS, &prompt(text)).await;
        assert_eq!(reply.header("content-type"), mime, "{text}");
        assert!(reply.text().starts_with(body), "{text}: {}", reply.text());
    }
    let billed = post(&test, GENERATIONS, &prompt("no [[moderated]]")).await.json();
    assert_eq!(billed["usage"]["cost_in_usd_ticks"], 200_000_000);
}

#[tokio::test]
async fn a_hung_call_is_made_and_does_not_delay_the_stop() {
    let test = TestSandbox::start().await;
    let url = format!("{}{GENERATIONS}", test.sandbox.imagine().api);
    let waiting = tokio::spawn(async move {
        let headers = [("authorization", "Bearer sandbox-key"), JSON];
        call("POST", &url, &headers, prompt("[[hang]]").to_string()).await.is_none()
    });
    let made = async || test.sandbox.imagine_record().calls.first().is_some_and(|call| call.images > 0);
    until("the picture is made", made).await;
    assert_eq!(test.sandbox.imagine_record().calls[0].status, None);
    assert!(!waiting.is_finished());
    test.sandbox.stop().await;
    assert!(waiting.await.expect("ends"), "no reply ever came");
}

#[tokio::test]
async fn a_slow_call_holds_its_answer_and_then_gives_it() {
    let test = TestSandbox::with(|settings| settings.job_time = Duration::from_millis(1)).await;
    assert_eq!(walk(&test, "[[slow:1]]").await, "200, file, file");
}
