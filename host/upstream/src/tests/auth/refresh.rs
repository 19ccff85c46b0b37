//! The life of a service account's token: shared by all calls, renewed ahead, dropped when refused, printed nowhere.

use std::io::Write;

use futures_util::future::join_all;
use gatehouse_harness::until;
use gatehouse_model::Outage;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Semaphore;

use super::service_account::{Stage, status, token};
use super::*;

const MINUTE: u64 = 60_000;

#[tokio::test]
async fn a_hundred_calls_at_once_fetch_one_token() {
    let stage = Stage::set().await;
    let upstream = stage.upstream();
    let outcomes = join_all((0..100).map(|_| status(&upstream))).await;
    assert!(outcomes.iter().all(|outcome| *outcome == Ok(200)), "{outcomes:?}");
    assert_eq!(stage.counts(), (1, 100));
    // And once more when it has expired.
    stage.clock.advance_ms(61 * MINUTE);
    join_all((0..100).map(|_| status(&upstream))).await;
    assert_eq!(stage.counts(), (2, 200));
    assert_eq!(stage.last_token(), 2);
}

#[tokio::test]
async fn a_hundred_calls_at_once_share_one_failure() {
    let stage = Stage::set().await;
    let upstream = stage.upstream();
    stage.fail(401, "{}");
    let outcomes = join_all((0..100).map(|_| status(&upstream))).await;
    assert!(outcomes.iter().all(|outcome| *outcome == Err(Outage::Unreachable)), "{outcomes:?}");
    assert_eq!(stage.counts(), (1, 0));
}

#[tokio::test]
async fn a_token_is_renewed_before_it_expires_and_no_call_waits_for_it() {
    let stage = Stage::set().await;
    let upstream = stage.upstream();
    status(&upstream).await.unwrap();
    stage.clock.advance_ms(54 * MINUTE);
    status(&upstream).await.unwrap();
    assert_eq!(stage.counts(), (1, 2), "not yet");
    // The seed's chance is next to nothing, so it is renewed 5 minutes before its end.
    stage.clock.advance_ms(2 * MINUTE);
    status(&upstream).await.unwrap();
    assert_eq!(stage.last_token(), 1, "the call went with the token in hand");
    until("the token is renewed", async || {
        status(&upstream).await.unwrap();
        stage.last_token() == 2
    })
    .await;
    assert_eq!(stage.tokens.received().len(), 2);
    // A token in hand for its whole life, renewed once an hour.
    stage.clock.advance_ms(54 * MINUTE);
    status(&upstream).await.unwrap();
    assert_eq!((stage.last_token(), stage.tokens.received().len()), (2, 2));
}

#[tokio::test]
async fn the_moment_of_renewal_is_spread_by_chance() {
    let stage = Stage::set().await;
    let file = stage.key_file();
    let secrets = |_: &SecretRef| Ok(Secret::new(file.clone()));
    let seed = Arc::new(TestSeed::constant(0xff));
    let (clock, resolver) = (Arc::clone(&stage.clock), Arc::new(SystemResolver));
    let upstream = Upstream::new(&config(&stage.config("")), &secrets, clock, seed, resolver).unwrap();
    status(&upstream).await.unwrap();
    stage.clock.advance_ms(51 * MINUTE);
    status(&upstream).await.unwrap();
    // 10 minutes before its end, where another seed takes 5.
    until("the token is renewed", async || stage.tokens.received().len() == 2).await;
}

#[tokio::test]
async fn a_failed_renewal_harms_no_call_while_the_token_is_valid() {
    let stage = Stage::set().await;
    let upstream = stage.upstream();
    status(&upstream).await.unwrap();
    stage.fail(503, "");
    stage.clock.advance_ms(56 * MINUTE);
    status(&upstream).await.unwrap();
    until("the renewal was tried", async || stage.tokens.received().len() == 2).await;
    for _ in 0..10 {
        assert_eq!(status(&upstream).await, Ok(200));
    }
    assert_eq!(stage.last_token(), 1);
    stage.clock.advance_ms(4 * MINUTE);
    assert_eq!(status(&upstream).await, Err(Outage::Unreachable));
    stage.recover();
    stage.clock.advance_ms(MINUTE);
    assert_eq!(status(&upstream).await, Ok(200));
}

#[tokio::test]
async fn a_call_that_is_cancelled_leaves_the_exchange_to_the_others() {
    let gate = Arc::new(Semaphore::new(0));
    let (asked, opened) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&gate));
    let count = Arc::clone(&asked);
    let endpoint = serve_raw(move |mut stream| {
        let (gate, count) = (Arc::clone(&opened), Arc::clone(&count));
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            gate.acquire().await.unwrap().forget();
            let body = format!("{{\"access_token\":\"{}\",\"expires_in\":\"3600\"}}", token(1));
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        }
    })
    .await;
    let stage = Stage::set().await;
    let file = stage.key_file().replace(&stage.tokens.url(), &format!("http://{endpoint}"));
    let text = stage.config("").replace(&stage.tokens.url(), &format!("http://{endpoint}"));
    let upstream = upstream_with_secrets(&text, &stage.clock, &|_| Ok(Secret::new(file.clone())));
    let call = || {
        let upstream = upstream.clone();
        tokio::spawn(async move { status(&upstream).await })
    };
    let first = call();
    until("the first call has asked", async || asked.load(Ordering::SeqCst) == 1).await;
    let second = call();
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    gate.add_permits(1);
    assert_eq!(second.await.unwrap(), Ok(200));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_call_waits_for_a_token_no_longer_than_it_may_take() {
    let address = serve_text("", true).await;
    let stage = Stage::set().await;
    let file = stage.key_file().replace(&stage.tokens.url(), &format!("http://{address}"));
    let text = stage.config("").replace(&stage.tokens.url(), &format!("http://{address}"));
    let upstream = upstream_with_secrets(&text, &stage.clock, &|_| Ok(Secret::new(file.clone())));
    let call = Call { timeout_ms: 50, ..post("{}") };
    let outcome = call_as(&upstream, "main", &call, &Memory::default()).await;
    assert_eq!(outcome, Err(Outage::Unreachable));
    assert_eq!(stage.api.received().len(), 0);
}

#[tokio::test]
async fn a_revoked_token_is_replaced_and_the_call_repeated_once() {
    let stage = Stage::set().await;
    let upstream = stage.upstream();
    status(&upstream).await.unwrap();
    stage.clock.advance_ms(10 * MINUTE);
    stage.first_valid.store(2, Ordering::SeqCst);
    let (memory, id) = Memory::with(b"a picture");
    let call = post(&format!(r#"{{"uri":"blob:{id}"}}"#));
    let reply = call_as(&upstream, "main", &call, &memory).await.unwrap();
    assert_eq!((reply.status, stage.counts()), (200, (2, 3)));
    let bodies: Vec<Bytes> = stage.api.received()[1..].iter().map(|seen| seen.body.clone()).collect();
    assert_eq!(bodies[0], bodies[1], "the same bytes, with another token");
    assert_eq!(upstream.acquire_account("p", &acme(), None).unwrap().0.account(), "main");
}

#[tokio::test]
async fn calls_at_once_replace_a_revoked_token_once() {
    let stage = Stage::set().await;
    let upstream = stage.upstream();
    status(&upstream).await.unwrap();
    stage.clock.advance_ms(10 * MINUTE);
    stage.first_valid.store(2, Ordering::SeqCst);
    let outcomes = join_all((0..20).map(|_| status(&upstream))).await;
    assert!(outcomes.iter().all(|outcome| *outcome == Ok(200)), "{outcomes:?}");
    assert_eq!(stage.tokens.received().len(), 2);
}

#[tokio::test]
async fn a_refusal_of_every_token_is_the_accounts() {
    let stage = Stage::set().await;
    let spare = "[providers.p.accounts.spare]\nsecret = { env = \"KEY\" }\npriority = 1\n";
    let upstream = stage.upstream_with(&format!("{}{spare}", stage.config("")));
    status(&upstream).await.unwrap();
    stage.clock.advance_ms(10 * MINUTE);
    stage.first_valid.store(90, Ordering::SeqCst);
    assert_eq!(status(&upstream).await, Ok(401));
    assert_eq!(stage.counts(), (2, 3), "one token more, one try more");
    assert_eq!(upstream.acquire_account("p", &acme(), None).unwrap().0.account(), "spare");
    // A token that was just issued is not to blame: no further one.
    assert_eq!(status(&upstream).await, Ok(401));
    assert_eq!(stage.counts(), (2, 4));
}

#[tokio::test]
async fn a_call_is_repeated_once_however_old_the_tokens_are() {
    let stage = Stage::set().await;
    let upstream = stage.upstream();
    status(&upstream).await.unwrap();
    stage.first_valid.store(90, Ordering::SeqCst);
    stage.delay.store(2 * MINUTE as usize, Ordering::SeqCst);
    stage.clock.advance_ms(10 * MINUTE);
    assert_eq!(status(&upstream).await, Ok(401));
    assert_eq!(stage.counts(), (2, 3));
}

#[tokio::test]
async fn a_token_outlives_a_new_configuration_of_the_same_account() {
    let stage = Stage::set().await;
    let upstream = stage.upstream();
    status(&upstream).await.unwrap();
    let switch = |text: &str, file: String| {
        let secrets = move |_: &SecretRef| Ok(Secret::new(file.clone()));
        let prepared = upstream.prepare(&config(text).providers, &secrets).ok().unwrap();
        let changes = upstream.changes(&prepared);
        upstream.switch(prepared);
        changes
    };
    let changed = [crate::AccountChange::NewSecret("providers.p.accounts.main.secret".to_owned())];
    assert_eq!(switch(&format!("{}weight = 3\n", stage.config("")), stage.key_file()), []);
    status(&upstream).await.unwrap();
    assert_eq!(stage.counts(), (1, 2));
    // Another key file, another scope: another token.
    let other = stage.key_file().replace("key-1", "key-2");
    assert_eq!(switch(&stage.config(""), other.clone()), changed);
    status(&upstream).await.unwrap();
    assert_eq!((stage.counts(), stage.last_token()), ((2, 3), 2));
    assert_eq!(switch(&stage.config(", scope = \"other\""), other), changed);
    status(&upstream).await.unwrap();
    assert_eq!((stage.counts(), stage.last_token()), ((3, 4), 3));
}

/// Everything that is logged, by any crate.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_secret_is_printed() {
    let log = Log::default();
    let writer = log.clone();
    // With one dispatcher in the process, a line that another test's thread comes to first is off for all threads: it is
    // asked of that thread's own dispatcher.
    let _second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::new());
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let stage = Stage::set().await;
    let upstream = stage.upstream();
    status(&upstream).await.unwrap();
    stage.clock.advance_ms(10 * MINUTE);
    stage.first_valid.store(2, Ordering::SeqCst);
    status(&upstream).await.unwrap();
    stage.clock.advance_ms(61 * MINUTE);
    let echo = |seen: &Received| {
        let form: Vec<(String, String)> = url::form_urlencoded::parse(&seen.body).into_owned().collect();
        form[1].1.clone()
    };
    stage.fail(400, r#"{"error":"invalid_grant","error_description":"bad SIGNATURE"}"#);
    let _ = status(&upstream).await;
    let server = Provider::start(|_| reply(403, &[], "")).await;
    let hmac = "auth = { hmac = { form = \"aws4\", region = \"r\", service = \"s\" } }";
    for auth in [hmac, "auth = \"jwt\""] {
        let upstream = upstream_of(&keyed(&server.url(), auth), &stage.clock);
        call_as(&upstream, "main", &post("{}"), &Memory::default()).await.unwrap();
    }
    let mut text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("the token endpoint answered 400 invalid_grant bad (secret)"), "{text}");
    let (account, call) = upstream.acquire_account("p", &acme(), None).unwrap();
    text += &format!("{account:?} {call:?}");
    let assertions = stage.tokens.received().iter().map(echo).collect::<Vec<_>>();
    let sent = server.received();
    let carried =
        sent.iter().map(|seen| seen.header("authorization").unwrap().split(['=', ' ']).next_back().unwrap());
    let secrets = [token(1), token(2), SIGNING_SECRET.to_owned(), PKCS8.lines().nth(1).unwrap().to_owned()];
    let all = secrets.into_iter().chain(assertions).chain(carried.map(str::to_owned));
    for secret in all {
        // The last part of a JWT is its signature.
        let part = secret.rsplit('.').next().unwrap();
        // Nor the beginning of one that was cut.
        assert!(!text.contains(&part[..20]), "{part} in\n{text}");
    }
}
