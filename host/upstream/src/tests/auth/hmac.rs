//! Signed requests, against a provider that recomputes the signature from the bytes it received.

use gatehouse_model::{Outage, Part};

use super::verify::{AWS, Rules, VOLCENGINE, check, signature};
use super::*;

const TIME: &str = "20261122T020000Z";

fn auth(form: &str, more: &str) -> String {
    format!("[providers.p.auth.hmac]\nform = \"{form}\"\nregion = \"cn-beijing\"\nservice = \"ark\"\n{more}")
}

/// A provider that answers 200 to a good signature and 403 with the reason to any other.
async fn strict(rules: &'static Rules) -> Provider {
    Provider::start(move |seen| match check(seen, rules, SIGNING_SECRET, TIME) {
        Ok(()) => reply(200, &[], "ok"),
        Err(why) => reply(403, &[], why),
    })
    .await
}

#[tokio::test]
async fn every_request_is_signed_over_what_leaves() {
    for (form, rules) in [("volcengine", &VOLCENGINE), ("aws4", &AWS)] {
        let server = strict(rules).await;
        let upstream = upstream_of(&keyed(&server.url(), &auth(form, "")), &TestClock::at(NOW));
        let picture: Vec<u8> = (0..=255).cycle().take(300_000).collect();
        let (memory, id) = Memory::with(&picture);
        let part = |name: &str, data| Part { name: name.to_owned(), filename: None, mime: None, data };
        let parts = vec![
            part("prompt", Body::Inline(b"a kite".as_slice().into())),
            part("image", Body::Blob(format!("blob:{id}"))),
        ];
        let calls = [
            get(path("/")),
            get(path("/?Version=2024-01-01&Action=GetAsset")),
            get(path("/a%20b/c:d/e%2Ff?z=%C3%BC&a=1+2&a=0&flag&q=x%2By*~")),
            post("{}"),
            post(&format!(r#"{{"image":"blob:{id}","raw":"blob:{id}:base64","n":1}}"#)),
            Call { body: Payload::Form(parts), ..post("") },
            Call { headers: vec![header("content-type", "application/json; charset=utf-8")], ..post("[1]") },
            Call { method: "DELETE".to_owned(), ..get(path("/x")) },
        ];
        for call in calls {
            let reply = call_as(&upstream, "main", &call, &memory).await.unwrap();
            assert_eq!((reply.status, text(&reply)), (200, "ok"), "{form} {call:?}");
        }
        let bodies: Vec<usize> = server.received().iter().map(|seen| seen.body.len()).collect();
        assert!(bodies[4] > 800_000 && bodies[5] > 300_000, "{bodies:?}");
    }
}

#[tokio::test]
async fn the_provider_of_these_tests_refuses_what_was_changed() {
    let server = strict(&VOLCENGINE).await;
    let upstream = upstream_of(&keyed(&server.url(), &auth("volcengine", "")), &TestClock::at(NOW));
    let call = Call { target: path("/?a=1"), ..post("{}") };
    call_as(&upstream, "main", &call, &Memory::default()).await.unwrap();
    let good = server.only();
    let verdict = |seen: &Received, secret: &str| check(seen, &VOLCENGINE, secret, TIME).is_ok();
    assert!(verdict(&good, SIGNING_SECRET));
    assert!(!verdict(&good, "another secret"));
    assert!(!verdict(&Received { body: "{ }".into(), ..good.clone() }, SIGNING_SECRET));
    assert!(!verdict(&Received { target: "/?a=2".to_owned(), ..good.clone() }, SIGNING_SECRET));
    assert!(!verdict(&Received { target: "/b?a=1".to_owned(), ..good.clone() }, SIGNING_SECRET));
    assert!(!verdict(&Received { method: http::Method::PUT, ..good.clone() }, SIGNING_SECRET));
    let mut other_type = good;
    other_type.headers.insert("content-type", "text/plain".parse().unwrap());
    assert!(!verdict(&other_type, SIGNING_SECRET));
}

#[tokio::test]
async fn chosen_headers_are_signed_too() {
    let server = strict(&VOLCENGINE).await;
    let more = "headers = [\"X-Project\", \"x-absent\"]";
    let upstream = upstream_of(&keyed(&server.url(), &auth("volcengine", more)), &TestClock::at(NOW));
    let call = Call { headers: vec![header("x-project", " default "), header("x-other", "1")], ..post("{}") };
    assert_eq!(call_as(&upstream, "main", &call, &Memory::default()).await.unwrap().status, 200);
    let seen = server.only();
    let authorization = seen.header("authorization").unwrap();
    let names = "SignedHeaders=content-type;host;x-content-sha256;x-date;x-project, ";
    assert!(authorization.contains(names), "{authorization}");
}

#[tokio::test]
async fn a_repeated_call_is_signed_anew_with_its_accounts_key_and_time() {
    let server = Provider::start(|_| reply(200, &[], "ok")).await;
    let two = format!(
        "{}[providers.p.accounts.spare]\nkey_id = {{ env = \"ID\" }}\nsecret = {{ env = \"the-spare-secret\" }}\n",
        keyed(&server.url(), &auth("volcengine", ""))
    );
    let clock = TestClock::at(NOW);
    let upstream = upstream_of(&two, &clock);
    for (account, secret, time) in [
        ("main", SIGNING_SECRET, "20261122T020000Z"),
        ("main", SIGNING_SECRET, "20261122T020001Z"),
        ("spare", "the-spare-secret", "20261122T020002Z"),
    ] {
        call_as(&upstream, account, &post("{}"), &Memory::default()).await.unwrap();
        clock.advance_ms(1000);
        let seen = server.received().pop().unwrap();
        assert_eq!(check(&seen, &VOLCENGINE, secret, time), Ok(()));
    }
    let signatures: std::collections::HashSet<String> = server.received().iter().map(signature).collect();
    assert_eq!(signatures.len(), 3);
}

#[tokio::test]
async fn a_plugin_sets_no_part_of_a_signature() {
    let server = strict(&VOLCENGINE).await;
    let upstream = upstream_of(&keyed(&server.url(), &auth("volcengine", "")), &TestClock::at(NOW));
    for name in ["X-Date", "x-content-sha256", "Authorization", "Host"] {
        let call = Call { headers: vec![header(name, "20200101T000000Z")], ..post("{}") };
        let outcome = call_as(&upstream, "main", &call, &Memory::default()).await;
        assert_eq!(outcome, Err(Outage::Refused), "{name}");
    }
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn a_signature_goes_to_the_accounts_origins_only() {
    let (server, other) = (strict(&VOLCENGINE).await, Provider::start(|_| reply(200, &[], "")).await);
    let upstream = upstream_of(&keyed(&server.url(), &auth("volcengine", "")), &TestClock::at(NOW));
    let foreign = get(Target::Url(format!("{}/", other.url())));
    assert_eq!(call_as(&upstream, "main", &foreign, &Memory::default()).await, Err(Outage::Refused));
    assert!(other.received().is_empty());
}

#[tokio::test]
async fn an_echoed_signature_is_redacted() {
    let server = Provider::start(|seen| {
        let authorization = seen.header("authorization").unwrap().to_owned();
        let headers = [("x-echo", authorization.as_str()), ("authorization", authorization.as_str())];
        reply(403, &headers, format!("{authorization} {SIGNING_SECRET}"))
    })
    .await;
    let upstream = upstream_of(&keyed(&server.url(), &auth("volcengine", "")), &TestClock::at(NOW));
    let reply = call_as(&upstream, "main", &post("{}"), &Memory::default()).await.unwrap();
    let (text, signature) = (text(&reply), signature(&server.only()));
    assert!(text.contains("Signature=(secret) (secret)") && !text.contains(&signature), "{text}");
    assert_eq!((reply.header("x-echo"), reply.header("authorization")), (None, None));
}

#[tokio::test]
async fn a_blob_that_cannot_be_read_sends_nothing() {
    let server = strict(&VOLCENGINE).await;
    let upstream = upstream_of(&keyed(&server.url(), &auth("volcengine", "")), &TestClock::at(NOW));
    let (_, id) = Memory::with(b"x");
    let call = post(&format!(r#"{{"uri":"blob:{id}"}}"#));
    assert_eq!(call_as(&upstream, "main", &call, &Memory::default()).await, Err(Outage::Refused));
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn a_call_without_credentials_carries_none() {
    let server = Provider::start(|_| reply(403, &[], "expired")).await;
    let base = server.url();
    for text in [keyed(&base, &auth("volcengine", "")), keyed(&base, "auth = \"jwt\""), provider(&base, "")] {
        let upstream = upstream_of(&text, &TestClock::at(NOW));
        let (_held, permit) = upstream.acquire_account("p", &acme(), None).unwrap();
        let permit = permit.without_credentials();
        let reply = permit.call(&get(path("/presigned")), &Memory::default(), NEVER).await.unwrap();
        assert_eq!(reply.status, 403);
        let seen = server.received().pop().unwrap();
        assert_eq!((seen.header("authorization"), seen.header("x-date")), (None, None));
        // The slot stays the host's.
        let own = Call { headers: vec![header("authorization", "mine")], ..get(path("/presigned")) };
        let permit = upstream.acquire_call("p", "main").unwrap().without_credentials();
        assert_eq!(permit.call(&own, &Memory::default(), NEVER).await, Err(Outage::Refused));
    }
}
