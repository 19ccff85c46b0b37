//! What the proxy refuses: secrets, paths, methods, bodies; and speeds.

use serde_json::{Value, json};

use super::proxy::{accepted, imagine, recorded, shown, submit, url};
use crate::tests::client::{JSON, KEY, TestSandbox, call};

#[tokio::test]
async fn secrets_are_checked() {
    let test = TestSandbox::start().await;
    let bearer = format!("Bearer {KEY}");
    for (headers, status) in [
        (vec![JSON], 401),
        (vec![JSON, ("mj-api-secret", "wrong")], 401),
        (vec![JSON, ("authorization", "Bearer wrong")], 401),
        (vec![JSON, ("mj-api-secret", KEY)], 200),
        (vec![JSON, ("authorization", &bearer)], 200),
        (vec![("mj-api-secret", KEY)], 415),
        (vec![("content-type", "text/plain"), ("mj-api-secret", KEY)], 415),
    ] {
        let reply =
            call("POST", &url(&test, "/mj/submit/imagine"), &headers, "{\"prompt\":\"a kite\"}").await;
        assert_eq!(reply.expect("a reply").status, status, "{headers:?}");
    }
}

#[tokio::test]
async fn paths_and_methods_are_checked() {
    let test = TestSandbox::start().await;
    for (method, path, status) in [
        ("POST", "/submit/imagine", 404),
        ("POST", "/mj-slow/mj/submit/imagine", 404),
        ("POST", "/mj-fast/submit/imagine", 404),
        ("POST", "/mj/submit/shout", 404),
        ("GET", "/mj/submit/imagine", 405),
        ("POST", "/mj/task/17/fetch", 405),
        ("GET", "/mj/task/list-by-condition", 405),
        ("GET", "/mj/task/17/fetch", 204),
        ("GET", "/mj-turbo/mj/task/17/fetch", 204),
    ] {
        let reply = call(method, &url(&test, path), &[("mj-api-secret", KEY), JSON], "{}").await;
        assert_eq!(reply.expect("a reply").status, status, "{method} {path}");
    }
}

#[tokio::test]
async fn bodies_that_do_not_bind_have_a_form_of_their_own() {
    let test = TestSandbox::start().await;
    for (route, body) in [
        ("imagine", json!({ "prompt": 5 })),
        ("imagine", json!({ "prompt": "p", "base64Array": "x" })),
        ("imagine", json!({ "prompt": "p", "botType": "OTHER" })),
        ("imagine", json!({ "prompt": "p", "state": "x".repeat(256) })),
        ("imagine", json!({ "prompt": "p", "notifyHook": "x".repeat(2001) })),
        ("imagine", json!(["p"])),
        ("blend", json!({ "dimensions": "ROUND" })),
        ("change", json!({ "taskId": "17", "action": "UPSCALE", "index": "1" })),
    ] {
        let answer = submit(&test, route, &body).await;
        assert_eq!((&answer["code"], &answer["success"]), (&json!(-1), &json!(false)), "{route} {body}");
        assert!(answer.get("description").is_none() && answer["message"].is_string(), "{answer}");
    }
    let reply =
        call("POST", &url(&test, "/mj/submit/imagine"), &[("mj-api-secret", KEY), JSON], "{\"prompt\":")
            .await;
    assert_eq!(reply.expect("a reply").json()["code"], -1);
    assert_eq!(submit(&test, "imagine", &json!({})).await["code"], 4);
    assert_eq!(submit(&test, "imagine", &json!({ "prompt": "  " })).await["code"], 4);
}

#[tokio::test]
async fn the_path_decides_the_speed_before_filter_and_prompt() {
    let test = TestSandbox::start().await;
    for (prefix, more, prompt, mode) in [
        ("/mj", json!({}), "a kite", "FAST"),
        ("/mj-relax/mj", json!({}), "a kite --turbo", "RELAX"),
        ("/mj-turbo/mj", json!({ "modes": ["RELAX"] }), "a kite", "TURBO"),
        ("/mj", json!({ "modes": ["RELAX"] }), "a kite --turbo", "RELAX"),
        ("/mj", json!({}), "a kite --relax", "RELAX"),
    ] {
        let body = json!({ "prompt": prompt, "accountFilter": more }).to_string();
        let url = url(&test, &format!("{prefix}/submit/imagine"));
        let reply = call("POST", &url, &[("mj-api-secret", KEY), JSON], body);
        let id = reply.await.expect("a reply").json()["result"].as_str().expect("an id").to_owned();
        assert_eq!(
            (shown(&test, &id).await["mode"].as_str(), recorded(&test, &id).mode.as_str()),
            (Some(mode), mode)
        );
    }
}

#[tokio::test]
async fn prompts_are_judged_by_the_engine() {
    let test = TestSandbox::start().await;
    for (prompt, reason) in [
        ("a kite --v 9", "--v 9"),
        ("a kite --ar 16x9", "--ar 16x9"),
        ("a kite --wind 3", "--wind"),
        ("a kite --draft --v 6.1", "--draft"),
    ] {
        let task = shown(&test, &imagine(&test, prompt).await).await;
        assert_eq!((&task["status"], &task["progress"]), (&json!("FAILURE"), &json!("")));
        let said = task["failReason"].as_str().unwrap_or_default();
        assert!(said.starts_with("[Invalid parameter]") && said.contains(reason), "{said}");
        assert!(task["imageUrl"].is_null() && task["buttons"] == json!([]), "{task}");
    }
    let niji = accepted(&test, "imagine", &json!({ "prompt": "a kite --niji 6" })).await;
    let bot = accepted(&test, "imagine", &json!({ "prompt": "a kite", "botType": "NIJI_JOURNEY" })).await;
    let version = async |id: &str| -> Value { shown(&test, id).await["version"].clone() };
    assert_eq!((version(&niji).await, version(&bot).await), (json!("niji 6"), json!("niji 7")));
}
