//! The records of the text providers, in process and over their own listener.

use crate::text::TextRecord;
use gatehouse_harness::until;

use crate::tests::client::{JSON, START_MS, TestSandbox, call, fetch};
use crate::tests::text::wire::{BOTH, VERSION, Wire, question};

#[tokio::test]
async fn requests_are_recorded_to_the_byte() {
    let test =
        TestSandbox::with(|settings| settings.keys = vec!["first-key".into(), "second-key".into()]).await;
    // Spaces, escapes and the order of fields are kept: thinking has to come back byte for byte.
    let body = b"{ \"messages\" : [{\"content\":\"h\\u0069\",\"role\":\"user\"}],\n\"max_tokens\":9, \"model\":\"claude-opus-4-6\"}";
    let headers = [("x-api-key", "second-key"), VERSION, JSON, ("x-trace", "7")];
    let reply = test.post(Wire::Messages, "/v1/messages?beta=true", &headers, body).await;
    let record = test.last(Wire::Messages);
    assert_eq!((record.number, record.account, record.at), (0, Some(1), START_MS));
    assert_eq!((record.path.as_str(), record.status), ("/v1/messages?beta=true", Some(200)));
    assert_eq!(record.body.as_deref(), Some(&body[..]));
    assert_eq!((record.header("x-trace"), record.header("x-api-key")), (Some("7"), Some("second-key")));
    assert_eq!(record.header("authorization"), None);
    assert_eq!(record.sent, u64::try_from(reply.body.len()).expect("short"));
    assert_eq!(record.usage.map(|usage| usage.input), Some(1));
    assert!(record.finished && !record.hung_up);
    assert_eq!(test.record(Wire::Chat), TextRecord::default(), "each provider has its own");

    let refused = [("x-api-key", "second-key-401"), VERSION, JSON];
    test.post(Wire::Messages, "/v1/messages", &refused, body).await;
    let record = test.last(Wire::Messages);
    assert_eq!((record.account, record.status, record.usage), (None, Some(401), None));
}

#[tokio::test]
async fn records_clients_that_disconnect() {
    let test = TestSandbox::start().await;
    for wire in BOTH {
        for (text, seen) in [("[[stall:2]]", "data: "), ("[[slow-start]]", "")] {
            let before = test.record(wire).count;
            let mut open = test.open(wire, &question(wire, text, true)).await;
            open.until(seen).await;
            until("an answer is held", async || test.record(wire).held > 0).await;
            drop(open);
            until("the client has left", async || test.last(wire).hung_up).await;
            let record = test.last(wire);
            assert_eq!((record.number, record.finished), (before, false));
            assert_eq!(record.usage.is_some(), !seen.is_empty(), "billed once the answer has begun: {text}");
        }
    }
}

#[tokio::test]
async fn the_listener_serves_the_record() {
    let test = TestSandbox::start().await;
    for (wire, addresses) in [(Wire::Chat, test.sandbox.chat()), (Wire::Messages, test.sandbox.messages())] {
        test.ask(wire, &question(wire, "hi", true)).await;
        let url = &addresses.record;
        let served: TextRecord = serde_json::from_slice(&fetch(url).await.body).expect("the record");
        assert_eq!(served, test.record(wire));
        assert_eq!(served.count, 1);
        let origin = &url[..url.rfind("/truth/").expect("a path")];
        for (method, url, status) in [
            ("GET", &format!("{origin}/messages"), 404),
            ("GET", &format!("{origin}/"), 404),
            ("POST", url, 405),
        ] {
            assert_eq!(call(method, url, &[], "").await.map(|reply| reply.status), Some(status));
        }
    }
}
