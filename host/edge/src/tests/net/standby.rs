//! The listeners of a gateway that waits: what they answer themselves, what they send on, and their sockets.

use std::future::pending;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use gatehouse_harness::{Connection, TestClock, TestSeed, until};
use gatehouse_model::Boxed;
use gatehouse_net::ServedBody;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;

use super::giving_way::LARGE;
use crate::config::Config;
use crate::standby::{AtWork, Forwarding, SendOn, StandbyEdge};
use crate::tests::{LIVE, NOW, secs};

/// Asks for a file by a signed link: without a key.
const MEDIA: &str = "GET /v1/media/m_1.mp4?expires=9&signature=good HTTP/1.1\r\nHost: a\r\n\r\n";

/// What it was sent, and its answer: the body of the request, or nothing at an address of one that is gone or
/// stopped, or a word and then nothing, or more than any buffer holds.
#[derive(Default)]
struct Other {
    sent: Mutex<Vec<(String, HeaderMap)>>,
    /// What its next answer consists of instead.
    pieces: Mutex<Option<UnboundedReceiver<Bytes>>>,
}

impl SendOn for Other {
    fn send(
        &self,
        address: String,
        request: Request<ServedBody>,
    ) -> Boxed<'static, Result<Response<ServedBody>, String>> {
        let target = format!("{} {address}{}", request.method(), request.uri().path_and_query().unwrap());
        self.sent.lock().unwrap().push((target, request.headers().clone()));
        let pieces = self.pieces.lock().unwrap().take();
        Box::pin(async move {
            if let Some(mut pieces) = pieces {
                let pieces = stream::poll_fn(move |context| pieces.poll_recv(context));
                let pieces = pieces.map(|piece| Ok::<_, std::io::Error>(Frame::data(piece)));
                return Ok(Response::new(ServedBody::new(StreamBody::new(pieces))));
            }
            if address.contains("gone") {
                return Err("no connection".to_owned());
            }
            if address.contains("stopped") {
                return pending().await;
            }
            if address.contains("silent") {
                let first = stream::iter([Ok(Frame::data(Bytes::from_static(b"a word")))]);
                return Ok(Response::new(ServedBody::new(StreamBody::new(first.chain(stream::pending())))));
            }
            let mut body = request.into_body().collect().await.unwrap().to_bytes();
            if address.contains("large") {
                body = Bytes::from(vec![b'x'; LARGE]);
            }
            let body = ServedBody::new(Full::<Bytes>::new(body).map_err(|never| match never {}));
            let answer = Response::builder().status(201).header("connection", "close").header("x-own", "1");
            Ok(answer.body(body).unwrap())
        })
    }
}

fn at(name: &str) -> AtWork {
    AtWork { name: name.to_owned(), address: Some(format!("http://{name}:1")) }
}

/// One called `b`, on those sockets or one of its own.
fn standby(
    settings: &str,
    at_work: watch::Receiver<AtWork>,
    send_on: Arc<Other>,
    clock: Arc<TestClock>,
    sockets: Vec<TcpListener>,
) -> StandbyEdge {
    let config: Config = toml::from_str(&format!("listen = \"127.0.0.1:0\"\n{settings}")).unwrap();
    let forwarding = Forwarding { name: "b".to_owned(), at_work, send_on };
    StandbyEdge::start(&config, forwarding, clock, Arc::<TestSeed>::default(), None, sockets).unwrap()
}

/// Clients of a standby would be refused although another gateway serves, or go in circles.
#[tokio::test]
async fn a_standby_sends_on_what_it_cannot_answer() {
    let (at_work, watched) = watch::channel(AtWork::default());
    let other = Arc::<Other>::default();
    let edge = standby("", watched, other.clone(), TestClock::at(NOW), Vec::new());
    let address = edge.addresses()[0];
    let ask = async |text: &str| Connection::open(address).await.ask(text).await;

    assert_eq!(ask(LIVE).await.status, 200);
    for path in ["/readyz", "/v1/models", "/v1/messages"] {
        let refused = ask(&format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, "1"), "{path}");
    }
    at_work.send_replace(at("a"));
    let ready = ask("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!((ready.status, &ready.json()["at_work"]), (200, &"a".into()));
    assert!(other.sent.lock().unwrap().is_empty());

    let head = "POST /v1/tasks?x=1 HTTP/1.1\r\nHost: gate.test\r\nConnection: x-mine\r\nX-Mine: 1\r\nX-Forwarded-For: 192.0.2.1\r\n";
    let answer = ask(&format!("{head}Content-Length: 2\r\n\r\n{{}}")).await;
    assert_eq!((answer.status, answer.header("x-own")), (201, "1"));
    assert_eq!(answer.text(), "{}");
    let (target, headers) = other.sent.lock().unwrap().pop().unwrap();
    assert_eq!(target, "POST http://a:1/v1/tasks?x=1");
    let of = |name: &str| {
        let values: Vec<_> = headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect();
        values.join(", ")
    };
    assert_eq!(of("x-forwarded-for"), "192.0.2.1, 127.0.0.1");
    assert_eq!((of("x-forwarded-host"), of("x-forwarded-proto")), ("gate.test".into(), "http".into()));
    assert_eq!((of("x-mine"), of("host"), of("gatehouse-sent-on-by")), ("".into(), "".into(), "b".into()));

    let circle = ask("GET /v1/models HTTP/1.1\r\nHost: a\r\nGatehouse-Sent-On-By: c\r\n\r\n").await;
    assert_eq!(circle.status, 503);
    at_work.send_replace(AtWork { name: "a".to_owned(), address: Some("http://gone:1".to_owned()) });
    assert_eq!(ask("GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n").await.status, 503);

    // The sockets go to the listeners after it, and a connection that comes in between waits in them.
    let sockets = edge.stop().await;
    let waiting = tokio::spawn(async move { Connection::open(address).await.ask(LIVE).await.status });
    let (_at_work, watched) = watch::channel(AtWork::default());
    let edge = standby("", watched, other, TestClock::at(NOW), sockets);
    assert_eq!(edge.addresses(), [address]);
    assert_eq!(waiting.await.unwrap(), 200);
}

/// A request or an answer would wait for a process that is stopped, and keep its permit, long after another gateway has taken the place.
#[tokio::test]
async fn a_request_that_waits_for_a_gateway_ends_once_another_one_is_at_work() {
    let (at_work, watched) = watch::channel(at("stopped"));
    let (other, clock) = (Arc::<Other>::default(), TestClock::at(NOW));
    let edge = standby("", watched, other.clone(), clock.clone(), Vec::new());
    let address = edge.addresses()[0];
    let text = "GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n";
    let ask = async move || Connection::open(address).await.ask(text).await;
    let waiting = tokio::spawn(async move { ask().await });
    until("it was sent on", async || other.sent.lock().unwrap().len() == 1).await;
    at_work.send_replace(at("c"));
    let refused = waiting.await.unwrap();
    assert_eq!((refused.status, refused.header("retry-after")), (503, "1"));
    assert_eq!(ask().await.status, 201);

    at_work.send_replace(at("silent"));
    let mut connection = Connection::open(address).await;
    connection.send(text).await;
    assert_eq!(connection.read_head().await.unwrap().status, 200);
    assert_eq!(connection.read_until("a word").await, "a word");
    at_work.send_replace(at("c"));
    let ends = tokio::spawn(async move { while connection.fill().await {} });
    until("the answer ends", async || {
        clock.advance(Duration::from_secs(10));
        ends.is_finished()
    })
    .await;
}

/// A film would break off after two minutes, for a link needs no key.
#[tokio::test]
async fn a_download_lasts_as_long_as_the_gateway_at_work_sends_it() {
    let (other, clock) = (Arc::<Other>::default(), TestClock::at(NOW));
    let (pieces, answer) = unbounded_channel();
    *other.pieces.lock().unwrap() = Some(answer);
    let (_at_work, watched) = watch::channel(at("a"));
    let edge = standby("", watched, other, clock.clone(), Vec::new());
    let mut client = Connection::open(edge.addresses()[0]).await;
    client.send(MEDIA).await;
    assert_eq!(client.read_head().await.unwrap().status, 200);
    // Twice the time of a connection without a request, and twice that of one that is told to end.
    for (number, pause) in [0, 75, 75, 10, 10].into_iter().enumerate() {
        clock.advance(secs(pause));
        let piece = format!("piece {number};");
        pieces.send(Bytes::from(piece.clone())).unwrap();
        assert_eq!(client.read_until(&piece).await, piece);
    }
}

/// It would end in the middle of a film as soon as another client comes.
#[tokio::test]
async fn a_download_is_in_use_until_its_client_has_taken_it() {
    let (_at_work, watched) = watch::channel(at("large"));
    let one = "limits = { connections = 1 }";
    let edge = standby(one, watched, Arc::default(), TestClock::at(NOW), Vec::new());
    let mut client = Connection::open(edge.addresses()[0]).await;
    client.send(MEDIA).await;
    assert_eq!(client.read_head().await.unwrap().status, 201);
    let _waits = Connection::open(edge.addresses()[0]).await;
    let mut read = 0;
    while read < LARGE && !client.closes_after(&mut read).await {}
    assert_eq!(read, LARGE);
}

/// A client that writes its whole body first would find the connection reset instead of an answer, and send all of it again.
#[tokio::test]
async fn a_body_that_is_not_wanted_does_not_cost_the_answer() {
    let (_at_work, watched) = watch::channel(AtWork::default());
    let edge = standby("", watched, Arc::default(), TestClock::at(NOW), Vec::new());
    let body = "x".repeat(16 << 20);
    let head = format!("POST /v1/images/edits HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
    let mut stream = TcpStream::connect(edge.addresses()[0]).await.unwrap();
    stream.write_all(&[head, body].concat().into_bytes()).await.expect("all of it is taken");
    let mut client = Connection::over(stream);
    let refused = client.read().await.unwrap();
    assert_eq!((refused.status, refused.header("retry-after")), (503, "1"));
    assert_eq!(refused.header("connection"), "close");
    assert!(client.closes().await);
}

/// Behind chunks no later head is found, so it would have no time limit. A connection that is one too many would keep its place.
#[tokio::test]
async fn an_answer_says_whether_it_is_the_last_of_its_connection() {
    let (_at_work, watched) = watch::channel(at("a"));
    let settings = "limits = { connections_per_ip = 1 }";
    let edge = standby(settings, watched, Arc::default(), TestClock::at(NOW), Vec::new());
    let mut kept = Connection::open(edge.addresses()[0]).await;
    let mut refused = Connection::open(edge.addresses()[0]).await;
    for (framing, last) in [
        ("\r\n", ""),
        ("Content-Length: 2\r\n\r\n{}", ""),
        ("Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "close"),
    ] {
        let answer = kept.ask(format!("GET /v1/models HTTP/1.1\r\nHost: a\r\n{framing}")).await;
        assert_eq!((answer.status, answer.header("connection")), (201, last), "{framing}");
    }
    let answer = refused.ask(LIVE).await;
    assert_eq!((answer.status, answer.header("connection")), (429, "close"));
    assert!(kept.closes().await && refused.closes().await);
}
