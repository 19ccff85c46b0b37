//! The simulated Veo with its tokens: what is refused, an operation from its beginning to its file in a bucket, what others may
//! not see. Tokens and fields are tested beside their code.

use std::time::Duration;

use serde_json::{Value, json};

use crate::tests::client::{JSON, Response, START_MS, TestSandbox, call};
use crate::veo::assertion_of;

const MODEL: &str = "/publishers/google/models/veo-3.1-generate-001";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
const OBJECT: &str = "/storage/v1/b/films/o/";

fn kite(more: Value) -> Value {
    let mut instance = json!({"prompt": "a kite"});
    for (name, value) in more.as_object().expect("an object") {
        instance[name] = value.clone();
    }
    json!({"instances": [instance], "parameters": {"aspectRatio": "16:9", "storageUri": "gs://films/"}})
}

/// The authorization of a service account.
async fn token(test: &TestSandbox, account: usize) -> String {
    let url = &test.sandbox.veo().token;
    let assertion = assertion_of(account, url, START_MS, ("RS256", &json!({})));
    let body =
        format!("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion={assertion}");
    let reply = call("POST", url, &[FORM], &body).await.expect("a reply");
    assert_eq!(reply.status, 200, "{}", reply.text());
    format!("Bearer {}", reply.json()["access_token"].as_str().expect("a token"))
}

async fn ask(test: &TestSandbox, token: &str, what: &str, body: &str) -> Response {
    let url = format!("{}{what}", test.sandbox.veo().vertex);
    call("POST", &url, &[("authorization", token), JSON], body).await.expect("a reply")
}

/// Begins an operation; gives its name.
async fn begun(test: &TestSandbox, token: &str, body: &Value) -> String {
    let reply = ask(test, token, &format!("{MODEL}:predictLongRunning"), &body.to_string()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["name"].as_str().expect("a name").to_owned()
}

async fn poll(test: &TestSandbox, token: &str, operation: &str) -> Response {
    let body = json!({"operationName": operation}).to_string();
    ask(test, token, &format!("{MODEL}:fetchPredictOperation"), &body).await
}

#[tokio::test]
async fn what_is_refused() {
    let test = TestSandbox::start().await;
    let good = token(&test, 0).await;
    let body = kite(json!({})).to_string();
    let odd = json!({"instances": [{"prompt": "a kite"}], "parameters": {"fps": 1}}).to_string();
    let begin = format!("{MODEL}:predictLongRunning");
    for (token, path, body, status, name) in [
        ("Bearer another", begin.as_str(), body.as_str(), 401, "UNAUTHENTICATED"),
        (&good, "/publishers/google/models/veo-9:predictLongRunning", &body, 404, "NOT_FOUND"),
        (&good, &begin, "{", 400, "INVALID_ARGUMENT"),
        (&good, &begin, &odd, 400, "INVALID_ARGUMENT"),
    ] {
        let reply = ask(&test, token, path, body).await;
        let error = &reply.json()["error"];
        assert_eq!(
            (reply.status, &error["code"], &error["status"]),
            (status, &json!(status), &json!(name)),
            "{body}"
        );
    }
    let record = test.sandbox.veo_record();
    assert_eq!((record.accepted, record.declined.len()), (0, 4));
}

#[tokio::test]
async fn from_the_beginning_to_a_file_and_its_continuation() {
    let test = TestSandbox::with(|settings| settings.job_time = Duration::from_secs(8)).await;
    let (first, second) = (token(&test, 0).await, token(&test, 1).await);
    let operation = begun(&test, &first, &kite(json!({}))).await;
    let running = poll(&test, &first, &operation).await;
    assert_eq!((running.status, running.json().get("done")), (200, None));
    test.advance(Duration::from_secs(8));
    let answer = poll(&test, &first, &operation).await.json();
    let uri = answer["response"]["videos"][0]["gcsUri"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(poll(&test, &second, &operation).await.status, 404, "another account's");
    let object = uri.strip_prefix("gs://films/").expect("in the bucket").replace('/', "%2F");
    let url = format!("{}{OBJECT}{object}?alt=media", test.sandbox.veo().storage);
    let fetch = async |headers: &[(&str, &str)]| call("GET", &url, headers, "").await.expect("a reply");
    assert_eq!(fetch(&[]).await.status, 401, "without a token");
    assert_eq!(fetch(&[("authorization", &second)]).await.status, 404, "another account's");
    let file = fetch(&[("authorization", &first)]).await;
    assert_eq!((file.status, &file.body[4..12]), (200, &b"ftypisom"[..]));
    // Only its own account continues it.
    let longer = kite(json!({"video": {"gcsUri": uri, "mimeType": "video/mp4"}}));
    let refused = ask(&test, &second, &format!("{MODEL}:predictLongRunning"), &longer.to_string()).await;
    assert_eq!(refused.status, 400);
    begun(&test, &first, &longer).await;
}
