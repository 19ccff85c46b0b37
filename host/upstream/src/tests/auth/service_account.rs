//! Tokens of service accounts, against a token endpoint that verifies the assertion and a provider that wants the token.

use std::sync::atomic::AtomicUsize;

use gatehouse_model::Outage;
use serde_json::{Value, json};

use super::verify::{is_by_the_key, parts};
use super::*;
use crate::pool::account::NoPermit;

/// A token endpoint and an API that takes its tokens.
pub(super) struct Stage {
    pub(super) clock: Arc<TestClock>,
    pub(super) tokens: Provider,
    pub(super) api: Provider,
    /// What the endpoint answers instead of a token; `SIGNATURE` stands for that of the assertion it received.
    pub(super) failure: Arc<Mutex<Option<(u16, String)>>>,
    /// The first token that the API takes; earlier ones are revoked.
    pub(super) first_valid: Arc<AtomicUsize>,
    /// Milliseconds that the endpoint takes for a token.
    pub(super) delay: Arc<AtomicUsize>,
}

/// The n-th token, long enough to be no accident.
pub(super) fn token(n: usize) -> String {
    format!("ya29.token-{n}-{}", "abcdefgh".repeat(8))
}

impl Stage {
    pub(super) async fn set() -> Self {
        let failure: Arc<Mutex<Option<(u16, String)>>> = Arc::default();
        let (issued, first_valid) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(1)));
        let (clock, delay) = (TestClock::at(NOW), Arc::new(AtomicUsize::new(0)));
        let (fails, time, takes) = (Arc::clone(&failure), Arc::clone(&clock), Arc::clone(&delay));
        let tokens = Provider::start(move |seen| match fails.lock().unwrap().clone() {
            Some((status, body)) => {
                let body = body.replace("SIGNATURE", seen.text().rsplit('.').next().unwrap());
                reply(status, &[("location", "/elsewhere")], body)
            }
            None => {
                time.advance_ms(takes.load(Ordering::SeqCst) as u64);
                let text = token(issued.fetch_add(1, Ordering::SeqCst) + 1);
                let body = json!({"access_token": text, "expires_in": 3600, "token_type": "Bearer"});
                reply(200, &[("content-type", "application/json")], body.to_string())
            }
        })
        .await;
        let first = Arc::clone(&first_valid);
        let api = Provider::start(move |seen| {
            let carried = seen.header("authorization").unwrap_or_default().to_owned();
            let first = first.load(Ordering::SeqCst);
            let valid = (first..first + 100).any(|n| carried == format!("Bearer {}", token(n)));
            reply(if valid { 200 } else { 401 }, &[], format!("seen {carried}"))
        })
        .await;
        Self { clock, tokens, api, failure, first_valid, delay }
    }

    pub(super) fn key_file(&self) -> String {
        json!({
            "type": "service_account",
            "client_email": "robot@project.iam.test",
            "private_key_id": "key-1",
            "private_key": PKCS8,
            "token_uri": format!("{}/token", self.tokens.url()),
        })
        .to_string()
    }

    pub(super) fn config(&self, more: &str) -> String {
        let url = self.tokens.url();
        let auth = format!("auth = {{ service_account = {{ token_url = \"{url}\"{more} }} }}");
        provider(&self.api.url(), &auth)
    }

    pub(super) fn upstream(&self) -> Upstream {
        self.upstream_with(&self.config(""))
    }

    pub(super) fn upstream_with(&self, text: &str) -> Upstream {
        let file = self.key_file();
        upstream_with_secrets(text, &self.clock, &|_| Ok(Secret::new(file.clone())))
    }

    pub(super) fn fail(&self, status: u16, body: &str) {
        *self.failure.lock().unwrap() = Some((status, body.to_owned()));
    }

    pub(super) fn recover(&self) {
        *self.failure.lock().unwrap() = None;
    }

    /// Requests to the endpoint and to the API so far.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.tokens.received().len(), self.api.received().len())
    }

    /// The number of the token that the API saw last.
    pub(super) fn last_token(&self) -> usize {
        let seen = self.api.received().pop().unwrap();
        (1..100).find(|n| seen.header("authorization") == Some(&format!("Bearer {}", token(*n)))).unwrap()
    }
}

pub(super) async fn status(upstream: &Upstream) -> Result<u16, Outage> {
    call_as(upstream, "main", &post("{}"), &Memory::default()).await.map(|reply| reply.status)
}

/// The assertion in a token request, checked for its form.
fn assertion(seen: &Received) -> String {
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", "/token"));
    assert_eq!(seen.header("content-type"), Some("application/x-www-form-urlencoded"));
    let form: Vec<(String, String)> = url::form_urlencoded::parse(&seen.body).into_owned().collect();
    let [(grant, kind), (name, assertion)] = &form[..] else { panic!("{form:?}") };
    assert_eq!((grant.as_str(), name.as_str()), ("grant_type", "assertion"));
    assert_eq!(kind, "urn:ietf:params:oauth:grant-type:jwt-bearer");
    assertion.clone()
}

fn claims(stage: &Stage) -> (Value, Value) {
    let (header, claims, text, signature) = parts(&assertion(&stage.tokens.only()));
    assert!(is_by_the_key(&text, &signature));
    assert!(!is_by_the_key(&format!("{text}x"), &signature), "the check of this test can fail");
    (header, claims)
}

#[tokio::test]
async fn the_assertion_is_signed_and_says_who_asks_for_what() {
    let stage = Stage::set().await;
    assert_eq!(status(&stage.upstream()).await, Ok(200));
    let (header, claims) = claims(&stage);
    assert_eq!(header, json!({"alg": "RS256", "typ": "JWT", "kid": "key-1"}));
    let now = NOW / 1000;
    let expected = json!({
        "iss": "robot@project.iam.test",
        "scope": "https://www.googleapis.com/auth/cloud-platform",
        "aud": format!("{}/token", stage.tokens.url()),
        "iat": now,
        "exp": now + 3600,
    });
    assert_eq!(claims, expected);
    let seen = stage.api.only();
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {}", token(1)).as_str()));
}

#[tokio::test]
async fn scope_and_subject_are_the_configured_ones() {
    let stage = Stage::set().await;
    let upstream = stage.upstream_with(&stage.config(", scope = \"a b\", subject = \"user@p.test\""));
    assert_eq!(status(&upstream).await, Ok(200));
    let (_, claims) = claims(&stage);
    assert_eq!((claims["scope"].as_str(), claims["sub"].as_str()), (Some("a b"), Some("user@p.test")));
}

#[tokio::test]
async fn an_echoed_token_is_redacted() {
    let stage = Stage::set().await;
    stage.first_valid.store(50, Ordering::SeqCst);
    let reply = call_as(&stage.upstream(), "main", &post("{}"), &Memory::default()).await.unwrap();
    assert_eq!((reply.status, text(&reply)), (401, "seen Bearer (secret)"));
}

#[tokio::test]
async fn a_refused_account_is_passed_over_and_asked_again_later() {
    let stage = Stage::set().await;
    let spare = "[providers.p.accounts.spare]\nsecret = { env = \"KEY\" }\npriority = 1\n";
    let upstream = stage.upstream_with(&format!("{}{spare}", stage.config("")));
    stage.fail(400, r#"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#);
    assert_eq!(status(&upstream).await, Err(Outage::Unreachable));
    assert_eq!(stage.counts(), (1, 0), "nothing was sent to the provider");
    // The account's failure, not the provider's: the other one is used.
    assert_eq!(upstream.acquire_account("p", &acme(), None).unwrap().0.account(), "spare");
    // No exchange before the pause is over, then one.
    assert_eq!(status(&upstream).await, Err(Outage::Unreachable));
    assert_eq!(stage.counts(), (1, 0));
    stage.recover();
    stage.clock.advance_ms(1000);
    assert_eq!(status(&upstream).await, Ok(200));
    assert_eq!(stage.counts(), (2, 1));
}

#[tokio::test]
async fn pauses_after_failures_grow_to_a_minute() {
    let stage = Stage::set().await;
    let upstream = stage.upstream();
    stage.fail(400, "{}");
    for (round, pause) in [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000].into_iter().enumerate() {
        assert_eq!(status(&upstream).await, Err(Outage::Unreachable));
        assert_eq!(stage.tokens.received().len(), round + 1);
        stage.clock.advance_ms(pause / 2 - 1);
        assert_eq!(status(&upstream).await, Err(Outage::Unreachable));
        assert_eq!(stage.tokens.received().len(), round + 1, "half the pause is the least");
        stage.clock.advance_ms(pause / 2 + 1);
    }
}

#[tokio::test]
async fn an_endpoint_that_fails_opens_the_breaker() {
    for (code, body) in [
        (500, "{}"),
        (302, ""),
        (429, "{}"),
        (200, "no json"),
        (200, r#"{"access_token":""}"#),
        (200, r#"{"access_token":"a\nb"}"#),
        (200, r#"{"access_token":"abc","token_type":"mac"}"#),
    ] {
        let stage = Stage::set().await;
        let upstream = stage.upstream();
        stage.fail(code, body);
        for _ in 0..5 {
            assert_eq!(status(&upstream).await, Err(Outage::Unreachable), "{code} {body}");
        }
        assert!(
            matches!(upstream.acquire_account("p", &acme(), None), Err(NoPermit::Until(_))),
            "{code} {body}"
        );
        assert_eq!(stage.counts(), (1, 0), "{code} {body}");
    }
}

#[tokio::test]
async fn the_answers_of_the_endpoint_have_a_limit() {
    let stage = Stage::set().await;
    stage.fail(200, &format!("{{\"access_token\":\"{}\"}}", "a".repeat(70_000)));
    assert_eq!(status(&stage.upstream()).await, Err(Outage::Unreachable));
}

/// Opens nothing and counts who wanted to.
#[derive(Default)]
struct NoDial(AtomicUsize);

impl crate::client::dial::Dial for NoDial {
    fn dial(&self, _: SocketAddr) -> BoxFuture<'_, io::Result<crate::client::dial::Dialed>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Err(io::ErrorKind::ConnectionRefused.into())))
    }
}

#[tokio::test]
async fn an_endpoint_that_is_not_written_out_must_be_public() {
    let stage = Stage::set().await;
    for (address, dials) in [("127.0.0.1", 0), ("10.1.2.3", 0), ("142.250.0.1", 1)] {
        let resolver = Table::of(&[("oauth2.googleapis.com", &[address])]);
        let file = stage.key_file().replace(&stage.tokens.url(), "https://oauth2.googleapis.com");
        let text = config(&provider(&stage.api.url(), "auth = \"service_account\""));
        let (seed, dial) = (Arc::new(TestSeed::default()), Arc::new(NoDial::default()));
        let secrets = move |_: &SecretRef| Ok(Secret::new(file.clone()));
        let (clock, dialled) = (Arc::clone(&stage.clock), Arc::clone(&dial));
        let upstream = Upstream::with_dial(&text, &secrets, clock, seed, resolver, dial).unwrap();
        assert_eq!(status(&upstream).await, Err(Outage::Unreachable));
        assert_eq!(dialled.0.load(Ordering::SeqCst), dials, "{address}");
    }
    assert_eq!(stage.counts(), (0, 0));
}
