//! What a local program may do to the admin listener: hold connections, read nothing, send half of something, ask
//! under another name.

use gatehouse_harness::{Connection, TestClock};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::show;
use super::support::{GRACE, HEAD, Listener, WRITE, limits, start, start_with};
use crate::{AdminClient, ApiRequest, ClientError, Config, RemoteApi, STANDBY, Waiting, WaitingServer};

/// More than the buffers of a connection take.
const LARGE: usize = 16 << 20;

fn large() -> &'static str {
    Box::leak("x".repeat(LARGE).into_boxed_str())
}

/// A client that asks for more than fits into its connection, and reads nothing.
async fn hold(listener: &Listener, number: usize) -> Connection {
    let mut client = Connection::open(listener.endpoint.address).await;
    client.send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await;
    listener.clock.armed_times(WRITE, number).await;
    client
}

#[tokio::test]
async fn a_client_that_reads_nothing_does_not_hold_the_stop() {
    let listener = start_with(Config::default(), large()).await;
    let _held = hold(&listener, 1).await;
    let stopping = tokio::spawn(listener.server.stop(GRACE));
    listener.clock.armed(GRACE).await;
    listener.clock.advance(GRACE);
    stopping.await.unwrap();
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_dropped() {
    let listener = start_with(Config::default(), large()).await;
    let mut held = hold(&listener, 1).await;
    listener.clock.advance(WRITE);
    // Bytes sent before are read; then the connection ends long before the page.
    assert_eq!(held.read_head().await.unwrap().header("content-length"), LARGE.to_string());
    let mut read = 0;
    while !held.closes_after(&mut read).await {}
    assert!(read < LARGE, "{read} bytes came");
}

#[tokio::test]
async fn operations_are_performed_beside_connections_that_read_nothing() {
    let config = Config { connections: 4.try_into().unwrap(), ..Config::default() };
    let listener = start_with(config, large()).await;
    let mut held = Vec::new();
    for number in 1..=4 {
        held.push(hold(&listener, number).await);
    }
    let api = RemoteApi::new(listener.endpoint.clone(), AdminClient::default());
    assert_eq!(api.send(show("known")).await.unwrap().body["id"], "known");
    let revoked = api.send(ApiRequest::post(&["keys", "gone", "revoke"])).await;
    assert!(matches!(&revoked, Err(ClientError::Api(refused)) if refused.status == 404), "{revoked:?}");
    // Pages are served beside them, too.
    let page = Connection::open(listener.endpoint.address).await.ask("GET /livez HTTP/1.0\r\n\r\n").await;
    assert_eq!(page.status, 200);
}

#[tokio::test]
async fn a_head_has_its_time() {
    let listener = start().await;
    let mut client = Connection::open(listener.endpoint.address).await;
    client.send("GET /livez HTTP/1.1\r\n").await;
    listener.clock.armed(HEAD).await;
    listener.clock.advance(HEAD);
    assert!(client.closes().await);
}

#[tokio::test]
async fn every_answer_is_of_one_host_and_one_token_and_is_not_sniffed() {
    let listener = start().await;
    for (lines, expected) in [
        ("Host: 127.0.0.1\r\n", 200),
        ("Host: localhost:1\r\n", 200),
        ("Host: rebound.example\r\n", 421),
        ("Host: rebound.example:9090\r\n", 421),
        ("", 400),
        ("Host: 127.0.0.1\r\nHost: rebound.example\r\n", 400),
        ("Host: 127.0.0.1\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n", 400),
        ("Host: 127.0.0.1\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n", 400),
    ] {
        for (method, path) in
            [("GET", "/metrics"), ("GET", "/livez"), ("GET", "/none"), ("POST", "/admin/v1/customers")]
        {
            let mut client = Connection::open(listener.endpoint.address).await;
            let answer = client.ask(format!("{method} {path} HTTP/1.1\r\n{lines}\r\n")).await;
            let own = match (method, path) {
                ("GET", "/none") => 404,
                ("POST", _) => 401,
                _ => 200,
            };
            assert_eq!(
                answer.status,
                if expected == 200 { own } else { expected },
                "{method} {path} {lines}"
            );
            assert_eq!(answer.header("x-content-type-options"), "nosniff", "{method} {path} {lines}");
            assert!(expected == 200 || !answer.text().contains("gatehouse_up"), "{}", answer.text());
        }
    }
}

/// The listener of a start that waits.
fn start_that_waits() -> WaitingServer {
    let waiting = watch::channel(Waiting { reason: "it waits".to_owned(), is_standby: true }).1;
    let page = Box::new(|| "gatehouse_up 1\n".to_owned());
    let (limits, handshakes) = limits();
    let clock = TestClock::at(1_000);
    WaitingServer::start(&Config::default(), limits, handshakes, waiting, page, clock).unwrap()
}

/// Without it a web page that takes this address for its own name reads the metrics of a gateway that waits.
#[tokio::test]
async fn a_start_that_waits_answers_for_its_own_hosts_alone() {
    let server = start_that_waits();
    for (lines, refused) in
        [("Host: 127.0.0.1\r\n", None), ("Host: rebound.example\r\n", Some(421)), ("", Some(400))]
    {
        for (path, own) in
            [("/livez", 200), ("/metrics", 200), ("/readyz", 503), (STANDBY, 200), ("/none", 503)]
        {
            let mut client = Connection::open(server.address()).await;
            let answer = client.ask(format!("GET {path} HTTP/1.1\r\n{lines}\r\n")).await;
            assert_eq!(answer.status, refused.unwrap_or(own), "{path} {lines}");
        }
    }
    server.stop().await;
}

/// A client that writes its whole body first would find the connection reset instead of an answer.
#[tokio::test]
async fn a_refused_body_does_not_cost_the_answer() {
    let (listener, waiting) = (start().await, start_that_waits());
    let line = "POST /admin/v1/customers HTTP/1.1\r\nHost: 127.0.0.1";
    let request = format!("{line}\r\nContent-Length: {LARGE}\r\n\r\n{}", large());
    for (address, status) in [(listener.endpoint.address, 401), (waiting.address(), 503)] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.expect("all of it is taken");
        let mut client = Connection::over(stream);
        let answer = client.read().await.expect("an answer");
        assert_eq!((answer.status, answer.header("connection")), (status, "close"));
        assert!(client.closes().await);
    }
}

/// Behind chunks no later head is found: it would have no time limit, and two lengths in it would not be refused.
#[tokio::test]
async fn a_request_in_chunks_is_the_last_of_its_connection() {
    let listener = start().await;
    let token = listener.endpoint.token.reveal();
    let mut client = Connection::open(listener.endpoint.address).await;
    for (framing, last) in [
        ("\r\n", ""),
        ("Content-Length: 0\r\n\r\n", ""),
        ("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "close"),
    ] {
        let head = "GET /admin/v1/customers/known HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer";
        let answer = client.ask(format!("{head} {token}\r\n{framing}")).await;
        assert_eq!((answer.status, answer.header("connection")), (200, last), "{framing}");
    }
    assert!(client.closes().await);
}

#[test]
fn hosts_are_names() {
    for (name, fits) in
        [("gatehouse.internal", true), ("a", true), ("", false), ("a:1", false), ("http://a", false)]
    {
        let config = Config { hosts: vec![name.to_owned()], ..Config::default() };
        assert_eq!(config.check().is_ok(), fits, "{name:?}");
    }
}
