//! Fetching: which URLs are refused and how, redirects, caps, and whose origins count.

use futures_util::FutureExt as _;
use tokio::io::AsyncWriteExt;

use gatehouse_harness::until;

use super::*;
use crate::fetch::fetcher::{FetchError, Origins, Policy};

const PATIENCE: Duration = Duration::from_secs(20);

fn user(max_bytes: u64) -> Policy<'static> {
    Policy::new(Origins::User, max_bytes, PATIENCE)
}

/// An upstream that may fetch from these hosts although they are private.
fn allowing(hosts: &[String]) -> Upstream {
    upstream(&format!("[fetch]\nallow_private = {hosts:?}\n"))
}

async fn fetch(upstream: &Upstream, url: &str, policy: &Policy<'_>) -> Result<Bytes, FetchError> {
    upstream.fetcher().fetch(url, policy).await?.collect().await
}

#[tokio::test]
async fn urls_that_lead_to_private_places_are_refused() {
    let names = Table::of(&[
        ("private.test", &["10.0.0.7"]),
        ("mixed.test", &["8.8.8.8", "127.0.0.1"]),
        ("mapped.test", &["::ffff:192.168.0.1"]),
        ("metadata.test", &["169.254.169.254"]),
        ("localhost", &["::1", "127.0.0.1"]),
        ("empty.test", &[]),
    ]);
    let upstream = upstream_with("", TestClock::skipping_pauses_at(0), names);
    let bad = FetchError::BadUrl;
    let closed = |host: &str| FetchError::NotPublic(host.to_owned());
    for (url, expected) in [
        ("", bad("it does not parse")),
        ("no url", bad("it does not parse")),
        ("ftp://example.com/", bad("expected http or https")),
        ("file:///etc/passwd", bad("expected http or https")),
        ("gopher://127.0.0.1:6379/_INFO", bad("expected http or https")),
        ("http://user@example.com/", bad("it must not hold a user name or password")),
        ("http://example.com:80@127.0.0.1/", bad("it must not hold a user name or password")),
        ("http://:pw@example.com/", bad("it must not hold a user name or password")),
        ("http://example.com:22/", bad("only ports 80 and 443 are allowed")),
        ("https://example.com:8443/", bad("only ports 80 and 443 are allowed")),
        ("http://127.0.0.1:6379/", bad("only ports 80 and 443 are allowed")),
        ("http://127.0.0.1/", closed("127.0.0.1")),
        ("http://0x7f.1/", closed("127.0.0.1")),
        ("http://127.1/", closed("127.0.0.1")),
        ("http://2130706433/", closed("127.0.0.1")),
        ("http://0177.0.0.1/", closed("127.0.0.1")),
        ("http://127.0.0.1./", closed("127.0.0.1")),
        ("http://\u{ff11}27.0.0.1/", closed("127.0.0.1")),
        ("http://0/", closed("0.0.0.0")),
        ("http://[::1]/", closed("::1")),
        ("http://[::ffff:127.0.0.1]/", closed("::ffff:7f00:1")),
        ("http://[64:ff9b::a00:1]/", closed("64:ff9b::a00:1")),
        ("https://169.254.169.254/latest/meta-data/", closed("169.254.169.254")),
        ("http://private.test/", closed("private.test")),
        ("http://PRIVATE.test/", closed("private.test")),
        ("http://mixed.test/", closed("mixed.test")),
        ("http://mapped.test/", closed("mapped.test")),
        ("http://metadata.test/", closed("metadata.test")),
        ("http://localhost/", closed("localhost")),
        // Nothing tells a name of the gateway's own network from one that nobody has.
        ("http://empty.test/", closed("empty.test")),
        ("http://unknown.test/", closed("unknown.test")),
    ] {
        assert_eq!(fetch(&upstream, url, &user(10)).await, Err(expected), "{url}");
    }
}

/// Without it an address of documentation is fetched in sandbox mode in a form that is refused anywhere else.
#[tokio::test]
async fn a_stand_in_is_fetched_where_its_address_might_be() {
    let server = Provider::start(|_| reply(200, &[], "bytes")).await;
    let mut config = config(&format!("[fetch]\nallow_private = [\"{}\"]\n", server.address));
    config.fetch.stand_ins = Some(format!("{}/samples", server.url()));
    let (clock, seed) = (TestClock::skipping_pauses_at(0), Arc::new(TestSeed::default()));
    let upstream = Upstream::new(&config, &secrets, clock, seed, Arc::new(Table::default())).unwrap();
    for url in ["https://example.com/a.png", "http://cdn.example.org:80/"] {
        assert_eq!(fetch(&upstream, url, &user(10)).await.unwrap(), "bytes", "{url}");
    }
    for url in [
        "https://me@example.com/a.png",
        "https://example.com:22/",
        "https://example.com:0/",
        "ftp://example.com/",
    ] {
        assert!(matches!(fetch(&upstream, url, &user(10)).await, Err(FetchError::BadUrl(_))), "{url}");
    }
}

#[tokio::test]
async fn a_host_the_operator_named_may_be_private() {
    let server = Provider::start(|_| reply(200, &[("content-type", "Image/PNG; x=y")], "bytes")).await;
    let port = server.address.port();
    let resolver = Table::of(&[("cdn.internal", &["127.0.0.1"])]);
    let config = format!("[fetch]\nallow_private = [\"cdn.internal:{port}\", \"other.internal\"]\n");
    let upstream = upstream_with(&config, TestClock::skipping_pauses_at(0), resolver.clone());
    let fetched =
        upstream.fetcher().fetch(&format!("http://cdn.internal:{port}/a#b"), &user(10)).await.unwrap();
    assert_eq!(fetched.mime.as_deref(), Some("image/png"));
    assert_eq!(fetched.collect().await.unwrap(), "bytes");
    // What was resolved is what is connected to: one question a connection.
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 1);
    let seen = server.only();
    assert_eq!(
        (seen.target.as_str(), seen.header("authorization"), seen.header("cookie")),
        ("/a", None, None)
    );
    // Its address under another spelling was not named.
    for url in [format!("http://127.0.0.1:{port}/"), format!("http://other.internal:{port}/")] {
        assert!(matches!(fetch(&upstream, &url, &user(10)).await, Err(FetchError::BadUrl(_))), "{url}");
    }
}

#[tokio::test]
async fn redirects_are_judged_like_the_first_url() {
    let server = Provider::start(|seen| {
        let to = |location: &str| reply(302, &[("location", location)], "");
        match seen.target.strip_prefix('/').unwrap() {
            "file" => reply(200, &[], "file"),
            "metadata" => to("http://169.254.169.254/latest/"),
            "port" => to("http://127.0.0.1:1/"),
            "scheme" => to("ftp://example.com/"),
            "userinfo" => to("http://a:b@example.com/"),
            "garbage" => to("http://[/"),
            "nowhere" => reply(302, &[], ""),
            "304" => reply(304, &[], ""),
            "1" => to("file"),
            number => to(&format!("/{}", number.parse::<u32>().unwrap() - 1)),
        }
    })
    .await;
    let upstream = allowing(&[server.address.to_string()]);
    for (target, expected) in [
        ("1", Ok(Bytes::from("file"))),
        ("3", Ok(Bytes::from("file"))),
        ("4", Err(FetchError::TooManyRedirects)),
        ("metadata", Err(FetchError::NotPublic("169.254.169.254".to_owned()))),
        ("port", Err(FetchError::BadUrl("only ports 80 and 443 are allowed"))),
        ("scheme", Err(FetchError::BadUrl("expected http or https"))),
        ("userinfo", Err(FetchError::BadUrl("it must not hold a user name or password"))),
        ("garbage", Err(FetchError::BadUrl("it redirects to an invalid URL"))),
        ("nowhere", Err(FetchError::BadUrl("it redirects to nowhere"))),
        ("304", Err(FetchError::Status(304))),
    ] {
        assert_eq!(
            fetch(&upstream, &format!("{}/{target}", server.url()), &user(10)).await,
            expected,
            "{target}"
        );
    }
}

#[tokio::test]
async fn results_come_from_the_providers_media_origins_only() {
    let other = Provider::start(|_| reply(200, &[], "elsewhere")).await;
    let away = format!("{}/x", other.url());
    let server = Provider::start(move |seen| match seen.target.as_str() {
        "/away" => reply(302, &[("location", &away)], ""),
        _ => reply(200, &[], "result"),
    })
    .await;
    let more = format!("media_origins = [\"{}\", \"https://*.bfl.ai\"]", server.url());
    let names = Table::of(&[("delivery.bfl.ai", &["10.1.2.3"])]);
    let upstream = upstream_with(&provider(API, &more), TestClock::skipping_pauses_at(0), names);
    let results = Policy::new(Origins::Results("p"), 100, PATIENCE);
    let from = async |url: String| fetch(&upstream, &url, &results).await;
    assert_eq!(from(format!("{}/r", server.url())).await.unwrap(), "result");
    assert_eq!(server.only().header("authorization"), None);
    let foreign = |origin: String| Err(FetchError::ForeignOrigin(origin));
    assert_eq!(from(format!("{}/away", server.url())).await, foreign(other.url()));
    assert_eq!(from(other.url()).await, foreign(other.url()));
    assert_eq!(
        from("https://api.example.com/".to_owned()).await,
        foreign("https://api.example.com:443".to_owned())
    );
    // A pattern does not open private addresses.
    assert_eq!(
        from("https://delivery.bfl.ai/".to_owned()).await,
        Err(FetchError::NotPublic("delivery.bfl.ai".to_owned()))
    );
    assert!(other.received().is_empty());
    let unknown = Policy::new(Origins::Results("q"), 100, PATIENCE);
    let outcome = fetch(&upstream, &server.url(), &unknown).await;
    assert_eq!(outcome, Err(FetchError::NoProvider("q".to_owned())));
}

#[tokio::test]
async fn a_body_has_limits() {
    let big =
        Provider::start(|seen| reply(if seen.target == "/gone" { 404 } else { 200 }, &[], vec![1; 1000]))
            .await;
    let upstream = allowing(&[big.address.to_string()]);
    assert_eq!(fetch(&upstream, &big.url(), &user(1000)).await.unwrap().len(), 1000);
    assert_eq!(fetch(&upstream, &big.url(), &user(999)).await, Err(FetchError::TooLarge(999)));
    let gone = fetch(&upstream, &format!("{}/gone", big.url()), &user(1000)).await;
    assert_eq!(gone, Err(FetchError::Status(404)));

    let endless = serve_raw(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n").await;
        while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
    })
    .await;
    let upstream = allowing(&[endless.to_string()]);
    let outcome = fetch(&upstream, &format!("http://{endless}/"), &user(100_000)).await;
    assert_eq!(outcome, Err(FetchError::TooLarge(100_000)));
}

#[tokio::test]
async fn a_body_that_stops_is_told_from_one_that_ends() {
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf";
    let (short, silent) = (serve_text(half, false).await, serve_text(half, true).await);
    let upstream = allowing(&[short.to_string(), silent.to_string()]);
    assert_eq!(fetch(&upstream, &format!("http://{short}/"), &user(100)).await, Err(FetchError::Broken));
    let hasty = Policy::new(Origins::User, 100, Duration::from_millis(50));
    assert_eq!(fetch(&upstream, &format!("http://{silent}/"), &hasty).await, Err(FetchError::Timeout));
}

#[tokio::test]
async fn a_trickle_is_cut_off() {
    let address = serve_raw(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nfirst").await.unwrap();
        // The rest follows only when the reader has taken the first piece and time has moved.
        stream.readable().await.unwrap();
    })
    .await;
    let clock = TestClock::skipping_pauses_at(0);
    let config = format!("[fetch]\nallow_private = [\"{address}\"]\n");
    let upstream = upstream_with(&config, clock.clone(), Arc::new(SystemResolver));
    let mut fetched = upstream.fetcher().fetch(&format!("http://{address}/"), &user(1000)).await.unwrap();
    clock.advance_ms(11_000);
    assert_eq!(fetched.next().await, Err(FetchError::Timeout));
}

/// Without it a link that has queued for its host is cut off at its first bytes, and every fetch when the clock is set forward.
#[tokio::test]
async fn neither_the_wait_for_a_permit_nor_a_clock_that_is_set_makes_a_fetch_slow() {
    let address = serve_raw(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nfirst").await.unwrap();
        stream.readable().await.unwrap();
    })
    .await;
    let clock = TestClock::skipping_pauses_at(0);
    let config = format!("[fetch]\nallow_private = [\"{address}\"]\nconcurrency_per_host = 1\n");
    let upstream = upstream_with(&config, clock.clone(), Arc::new(SystemResolver));
    let (url, customer) = (format!("http://{address}/"), CustomerId::from("acme"));
    let policy = Policy { customer: Some(&customer), ..user(1000) };
    // How the time goes on while the fetch waits for its host, and then until its first bytes.
    for (waits_ms, set_ms, takes_ms, expected) in [
        (12_000, 0, 0, Ok(Some(Bytes::from_static(b"first")))),
        (0, 3_600_000, 0, Ok(Some(Bytes::from_static(b"first")))),
        (12_000, 3_600_000, 9_000, Ok(Some(Bytes::from_static(b"first")))),
        (12_000, 3_600_000, 11_000, Err(FetchError::Timeout)),
    ] {
        let fetcher = upstream.fetcher();
        let before = fetcher.fetch(&url, &policy).await.unwrap();
        let mut fetch = Box::pin(fetcher.fetch(&url, &policy));
        assert!(fetch.as_mut().now_or_never().is_none(), "the one before has the host's permit");
        clock.advance_ms(waits_ms);
        clock.set_forward(Duration::from_millis(set_ms));
        drop(before);
        let mut fetched = fetch.await.unwrap();
        clock.set_forward(Duration::from_millis(set_ms));
        clock.advance_ms(takes_ms);
        assert_eq!(fetched.next().await, expected, "{waits_ms} {set_ms} {takes_ms}");
    }
}

#[test]
fn messages_are_for_clients() {
    for (error, message) in [
        (FetchError::TooLarge(20 * 1024 * 1024), "it is larger than 20 MiB"),
        (FetchError::Status(404), "the server answered 404"),
        (
            FetchError::NotPublic("intra.test".to_owned()),
            "intra.test is not a public address or does not exist",
        ),
        (
            FetchError::BadUrl("expected http or https"),
            "not a URL that can be fetched: expected http or https",
        ),
    ] {
        assert_eq!(error.to_string(), message);
    }
}

/// Without this, 6,500 submissions of one customer open as many sockets, wherever their links lead.
#[tokio::test]
async fn links_of_one_customer_are_fetched_a_few_at_once() {
    let (seen, answers) = (Arc::new(AtomicUsize::new(0)), Arc::new(tokio::sync::Semaphore::new(0)));
    let (count, wait) = (Arc::clone(&seen), Arc::clone(&answers));
    let address = serve_raw(move |mut stream| {
        let (count, wait) = (Arc::clone(&count), Arc::clone(&wait));
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            let _answer = wait.acquire().await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
        }
    })
    .await;
    let limits = "concurrency_per_customer = 2\nconcurrency_per_host = 3";
    let upstream = upstream(&format!("[fetch]\nallow_private = [\"{address}\"]\n{limits}\n"));
    let begin = |customer: &'static str| {
        let upstream = upstream.clone();
        tokio::spawn(async move {
            let customer = CustomerId::from(customer);
            let policy = Policy { customer: Some(&customer), ..user(100) };
            fetch(&upstream, &format!("http://{address}/"), &policy).await
        })
    };
    let mut all: Vec<_> = (0..5).map(|_| begin("acme")).collect();
    until("two are under way", async || seen.load(Ordering::SeqCst) == 2).await;
    all.extend([begin("other"), begin("other")]);
    until("one of another customer is too", async || seen.load(Ordering::SeqCst) == 3).await;
    answers.add_permits(1);
    for one in all {
        assert_eq!(one.await.unwrap(), Ok(Bytes::from_static(b"ok")));
    }
    assert_eq!(seen.load(Ordering::SeqCst), 7);
}
