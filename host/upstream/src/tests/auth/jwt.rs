//! JWTs made from an access key, against a provider that reads and verifies them.

use super::verify::{mac, parts};
use super::*;

fn token(seen: &Received) -> String {
    seen.header("authorization").unwrap().strip_prefix("Bearer ").unwrap().to_owned()
}

#[tokio::test]
async fn each_call_carries_a_token_of_its_moment() {
    let server = Provider::start(|_| reply(200, &[], "ok")).await;
    let clock = TestClock::at(NOW);
    for (auth, lifetime) in [("auth = \"jwt\"", 1800), ("auth = { jwt = { lifetime_s = 60 } }", 60)] {
        let upstream = upstream_of(&keyed(&server.url(), auth), &clock);
        for _ in 0..2 {
            clock.advance_ms(61_000);
            call_as(&upstream, "main", &post("{}"), &Memory::default()).await.unwrap();
            let (header, claims, text, signature) = parts(&token(server.received().last().unwrap()));
            let now = clock.now().seconds();
            assert_eq!(header, serde_json::json!({"alg": "HS256", "typ": "JWT"}));
            assert_eq!(claims, serde_json::json!({"iss": KEY_ID, "exp": now + lifetime, "nbf": now - 5}));
            assert_eq!(signature, mac(SIGNING_SECRET.as_bytes(), &text));
        }
    }
}

#[tokio::test]
async fn an_echoed_token_is_redacted() {
    let server = Provider::start(|seen| {
        let authorization = seen.header("authorization").unwrap().to_owned();
        let signature = authorization.rsplit('.').next().unwrap();
        reply(401, &[("x-echo", &authorization)], format!("bad {authorization}, {signature}"))
    })
    .await;
    let upstream = upstream_of(&keyed(&server.url(), "auth = \"jwt\""), &TestClock::at(NOW));
    let reply = call_as(&upstream, "main", &post("{}"), &Memory::default()).await.unwrap();
    assert_eq!((reply.status, text(&reply)), (401, "bad Bearer (secret), (secret)"));
    assert_eq!(reply.header("x-echo"), None);
    // Made for the call, so a refusal is the account's and the call is not repeated.
    assert_eq!(server.received().len(), 1);
}
