//! What is told when no whole reply comes, and above all whether anything had been sent.

use gatehouse_model::{Framing, Outage};
use tokio::io::AsyncWriteExt as _;

use super::*;
use crate::calls::stream::Opening;
use crate::pool::account::NoPermit;

async fn outcome(upstream: &Upstream, call: &Call, deadline: UnixMs) -> Result<u16, Outage> {
    let (_place, permit) = upstream.acquire_account("p", &acme(), None).unwrap();
    permit.call(call, &Memory::default(), deadline).await.map(|reply| reply.status)
}

/// A port that was open a moment ago.
async fn closed_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[tokio::test]
async fn a_closed_port_and_a_name_without_address_are_unreachable() {
    for base in [closed_port().await, "https://nowhere.test".to_owned()] {
        let text = provider(&base, "");
        let upstream = upstream_with(&text, TestClock::skipping_pauses_at(0), Table::of(&[]));
        assert_eq!(outcome(&upstream, &post("{}"), NEVER).await, Err(Outage::Unreachable), "{base}");
    }
}

#[tokio::test]
async fn an_address_behind_a_pattern_must_be_public() {
    let server = Provider::start(|_| reply(200, &[], "")).await;
    let names = Table::of(&[("evil.bfl.ai", &["127.0.0.1"])]);
    let more = format!("origins = [\"https://*.bfl.ai:{}\"]", server.address.port());
    let upstream = upstream_with(&provider(API, &more), TestClock::skipping_pauses_at(0), names);
    let url = format!("https://evil.bfl.ai:{}/", server.address.port());
    assert_eq!(outcome(&upstream, &get(Target::Url(url)), NEVER).await, Err(Outage::Unreachable));
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn no_answer_in_time_is_a_timeout_and_half_an_answer_too() {
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf";
    for (text, more, timeout_ms) in [("", "", 50), (half, "total_timeout_ms = 50", 20_000)] {
        let address = serve_text(text, true).await;
        let upstream = upstream(&provider(&format!("http://{address}"), more));
        let call = Call { timeout_ms, ..post("{}") };
        assert_eq!(outcome(&upstream, &call, NEVER).await, Err(Outage::Timeout), "{text:?}");
    }
}

/// A call that only hands a job over does not hold its permit as long as a whole exchange may take; one that brings a file
/// does, and one that may be repeated too.
#[tokio::test]
async fn a_hanging_submit_has_a_time_limit_of_its_own() {
    let address = serve_text("", true).await;
    let more = "total_timeout_ms = 3600000\nsubmit_timeout_ms = 50";
    let upstream = upstream(&provider(&format!("http://{address}"), more));
    let long = |call: Call| Call { timeout_ms: 3_600_000, ..call };
    assert_eq!(outcome(&upstream, &long(post("{}")), NEVER).await, Err(Outage::Timeout));
    for other in [Call { reading: Reading::Cut, ..post("{}") }, get(path("/poll"))] {
        let (other, submit) = (long(other), long(post("{}")));
        tokio::select! {
            biased;
            outcome = outcome(&upstream, &other, NEVER) => panic!("{outcome:?}"),
            outcome = outcome(&upstream, &submit, NEVER) => assert_eq!(outcome, Err(Outage::Timeout)),
        }
    }
}

#[tokio::test]
async fn a_deadline_that_is_over_sends_nothing() {
    let server = Provider::start(|_| reply(200, &[], "")).await;
    let upstream = upstream(&provider(&server.url(), ""));
    assert_eq!(outcome(&upstream, &post("{}"), UnixMs(0)).await, Err(Outage::Unreachable));
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn a_connection_that_breaks_is_broken() {
    for beginning in ["", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", "not http at all\r\n\r\n"] {
        let address = serve_text(beginning, false).await;
        let upstream = upstream(&provider(&format!("http://{address}"), ""));
        assert_eq!(outcome(&upstream, &post("{}"), NEVER).await, Err(Outage::Broken), "{beginning:?}");
    }
}

/// Each interim response is read and dropped, so that a provider could hold a request until the end of its time.
#[tokio::test]
async fn endless_interim_responses_are_no_answer() {
    let address = serve_raw(|mut stream| async move {
        while stream.write_all(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n").await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let upstream = upstream(&provider(&format!("http://{address}"), ""));
    assert_eq!(outcome(&upstream, &post("{}"), NEVER).await, Err(Outage::Broken));
}

#[tokio::test]
async fn too_much_is_too_large_announced_or_not() {
    let chunked = serve_raw(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
        let chunk = [b"10000\r\n".to_vec(), vec![b'x'; 0x10000], b"\r\n".to_vec()].concat();
        while stream.write_all(&chunk).await.is_ok() {}
    })
    .await;
    let announced = serve_text("HTTP/1.1 200 OK\r\ncontent-length: 2000000\r\n\r\n", true).await;
    for address in [chunked, announced] {
        let limits = "max_reply_mib = 1\nmax_saved_mib = 1";
        let upstream = upstream(&provider(&format!("http://{address}"), limits));
        for reading in [Reading::Whole, Reading::Saved, Reading::Cut] {
            let call = Call { reading, ..post("{}") };
            assert_eq!(outcome(&upstream, &call, NEVER).await, Err(Outage::TooLarge), "{reading:?}");
        }
    }
}

#[tokio::test]
async fn answers_tell_the_account_what_to_do() {
    for (status, headers, calls, then) in [
        (429, vec![("retry-after", "9")], 1, Some(9000)),
        (429, vec![("retry-after", "0.4")], 1, Some(1000)),
        (500, vec![], 4, None),
        (404, vec![], 9, None),
        (402, vec![], 9, None),
    ] {
        let server = Provider::start(move |_| reply(status, &headers, "")).await;
        let clock = TestClock::skipping_pauses_at(1_000_000);
        let upstream = upstream_with(&provider(&server.url(), ""), clock.clone(), Arc::new(SystemResolver));
        for _ in 0..calls {
            assert_eq!(outcome(&upstream, &get(path("/")), NEVER).await, Ok(status));
        }
        let expected = then.map(|ms| NoPermit::Until(clock.now().plus(Duration::from_millis(ms))));
        assert_eq!(upstream.acquire_account("p", &acme(), None).err(), expected, "{status}");
    }
}

#[tokio::test]
async fn five_server_errors_or_outages_open_the_breaker() {
    let failing = Provider::start(|_| reply(503, &[], "")).await;
    let gone = closed_port().await;
    for base in [failing.url(), gone] {
        let upstream = upstream(&provider(&base, ""));
        for _ in 0..5 {
            let _ = outcome(&upstream, &get(path("/")), NEVER).await;
        }
        assert!(matches!(upstream.acquire_account("p", &acme(), None), Err(NoPermit::Until(_))), "{base}");
    }
}

/// Blobs whose second half cannot be read.
struct Torn;

impl Blobs for Torn {
    fn open(&self, _: BlobId) -> BoxFuture<'_, io::Result<Option<OpenBlob>>> {
        let pieces = [Ok(Bytes::from_static(b"half")), Err(io::Error::other("the bucket is away"))];
        let body = stream::iter(pieces).boxed();
        Box::pin(std::future::ready(Ok(Some(OpenBlob { mime: "image/png".to_owned(), length: 8, body }))))
    }

    fn save<'a>(&'a self, _: BoxStream<'a, io::Result<Bytes>>) -> BoxFuture<'a, io::Result<BlobId>> {
        Box::pin(std::future::ready(Err(io::Error::other("no room"))))
    }
}

/// Without it a bucket that does not answer closes every account whose calls carry files.
#[tokio::test]
async fn a_body_that_cannot_be_read_is_no_fault_of_the_account() {
    let server = Provider::start(|_| reply(200, &[], "")).await;
    let upstream = upstream(&provider(&server.url(), ""));
    let call = post(&format!(r#"{{"image":"blob:{}"}}"#, Memory::with(b"").1));
    for _ in 0..9 {
        let permit = upstream.acquire_account("p", &acme(), None).expect("an account").1;
        assert_eq!(permit.call(&call, &Torn, NEVER).await, Err(Outage::Broken));
    }
    assert!(upstream.overview("p").expect("a provider").accounts[0].last_errors.is_empty());
}

/// Without it an account whose streams never get beyond their heads is asked for ever: each head forgives the failure before it.
#[tokio::test]
async fn five_streams_that_end_with_their_heads_open_the_breaker() {
    for (body, is_open) in [("", true), ("8\r\ndata: a\n\r\n", false)] {
        let address = serve_raw(move |mut stream| async move {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
        })
        .await;
        let upstream = upstream(&provider(&format!("http://{address}"), ""));
        for _ in 0..5 {
            let (_place, permit) = upstream.acquire_account("p", &acme(), None).unwrap();
            let (idle, none) = (Duration::from_secs(5), Memory::default());
            let opening = permit.open(&get(path("/")), &none, NEVER, Framing::Sse, idle).await;
            let Ok(Opening::Events(mut events)) = opening else { panic!("{body:?}") };
            assert_eq!(events.next().await, Err(Outage::Broken), "{body:?}");
        }
        let permits = upstream.acquire_account("p", &acme(), None);
        assert_eq!(matches!(permits, Err(NoPermit::Until(_))), is_open, "{body:?}: {permits:?}");
    }
}
