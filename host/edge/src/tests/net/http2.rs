//! TLS and HTTP/2: one port, the protocol the client offers, the same responses.

use std::sync::Arc;

use gatehouse_harness::until;
use http::{Request, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::Certificates;
use crate::tests::TestEdge;

pub(in crate::tests) type Body = Full<bytes::Bytes>;

/// An edge behind TLS, and its certificate.
pub(in crate::tests) async fn secure_with(settings: &str) -> (TestEdge, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(vec!["gate.test".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let certificates = Certificates::from_material(vec![certificate.clone()], key).unwrap();
    (TestEdge::behind(settings, Some(certificates)).await, certificate)
}

pub(in crate::tests) async fn shake(
    edge: &TestEdge,
    trusted: &CertificateDer<'static>,
    offer: &[&[u8]],
) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(edge.server.addresses()[0]).await.unwrap();
    shake_over(stream, trusted, offer).await
}

/// The same over a connection that is open.
pub(in crate::tests) async fn shake_over(
    stream: TcpStream,
    trusted: &CertificateDer<'static>,
    offer: &[&[u8]],
) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = offer.iter().map(|name| name.to_vec()).collect();
    let name = ServerName::try_from("gate.test").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
}

/// A request with the key and a JSON body.
pub(super) fn post(
    edge: &TestEdge,
    target: &str,
    version: Version,
    body: impl Into<bytes::Bytes>,
) -> Request<Body> {
    Request::post(target)
        .version(version)
        .header("host", "gate.test")
        .header("authorization", format!("Bearer {}", edge.key))
        .header("content-type", "application/json")
        .body(Body::new(body.into()))
        .unwrap()
}

#[tokio::test]
async fn http2_is_served_where_it_is_offered() {
    let (edge, certificate) = secure_with("").await;
    let stream = shake(&edge, &certificate, &[b"h2", b"http/1.1"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut sender, connection) =
        http2::handshake::<_, _, Body>(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = post(&edge, "https://gate.test/v1/images/generations", Version::HTTP_2, "{}");
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert!(response.headers().contains_key("x-gateway-request-id"));
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert!(body.starts_with(br#"{"code":200,"data":[{"status":"submitted""#));

    // Two hosts in one request are refused here as well.
    let mut request = post(&edge, "https://gate.test/v1/images/generations", Version::HTTP_2, "{}");
    request.headers_mut().insert("host", "other.test".parse().unwrap());
    assert_eq!(sender.send_request(request).await.unwrap().status(), StatusCode::BAD_REQUEST);

    let head = Request::head("https://gate.test/v1/media/m_1.png?expires=9&signature=good");
    let response = sender.send_request(head.body(Body::default()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-length"], "10");

    // A drain sends GOAWAY and ends the connection.
    edge.server.drain(std::time::Duration::from_secs(30)).await;
    assert!(sender.ready().await.is_err());
}

#[tokio::test]
async fn links_of_a_secure_listener_are_secure() {
    let [_, edge] = TestEdge::both("").await;
    let id = edge.backend.put(1, crate::tests::support::samples::complete);
    let body = edge.client().await.ask(edge.get(&format!("/v1/tasks/{id}"), "")).await.json();
    let link = format!("https://gate.test/v1/media/{id}");
    assert_eq!(body["data"]["result"]["images"][0]["url"][0], link);
}

#[tokio::test]
async fn cleartext_http2_is_served_only_where_it_is_allowed() {
    for (settings, served) in [("cleartext_http2 = true", true), ("", false)] {
        let edge = TestEdge::with(settings).await;
        let stream = TcpStream::connect(edge.server.addresses()[0]).await.unwrap();
        let (mut sender, connection) =
            http2::handshake::<_, _, Body>(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let request = post(&edge, "http://gate.test/v1/images/generations", Version::HTTP_2, "{}");
        let status = sender.send_request(request).await.ok().map(|response| response.status());
        assert_eq!(status, served.then_some(StatusCode::OK));
        // HTTP/1.1 is served either way.
        assert_eq!(edge.read("/v1/models").await.status, 200);
    }
}

/// Windows of clients that take next to nothing. With room for one byte hyper gives up a whole piece, and the answer's record.
const WINDOWS: [u32; 2] = [0, 1];

/// A connection of a client that takes so many bytes of an answer that it does not read.
async fn narrow(edge: &TestEdge, window: u32) -> http2::SendRequest<Body> {
    let stream = edge.stream(b"h2").await;
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(window)
        .handshake::<_, Body>(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    sender
}

/// Asks for a path until most answers would have to wait: those `beyond` the bound come without a body.
async fn expect_bound(edge: &TestEdge, window: u32, path: &str, beyond: u16) {
    const STREAMS: usize = 120;
    let sender = narrow(edge, window).await;
    let (mut full, mut empty) = (Vec::new(), 0);
    for _ in 0..STREAMS {
        let request = Request::get(format!("https://gate.test{path}")).version(Version::HTTP_2);
        let mut sender = sender.clone();
        let response = sender.send_request(request.body(Body::default()).unwrap()).await.unwrap();
        if http_body::Body::is_end_stream(response.body()) {
            assert_eq!(response.status(), beyond, "{path}, window {window}");
            empty += 1;
        } else {
            full.push(response);
        }
    }
    let count = full.len();
    assert!(count <= 64 && empty + count == STREAMS, "{path}, window {window}: {count} hold a body");
    // Another connection is not concerned.
    let other = edge.client().await.ask(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
    assert!(!other.body.is_empty(), "{path}, window {window}");
}

/// A client that opens streams and takes nothing of what needs no key: the rest is answered without a body, which needs none of
/// its window. Without the bound each of them holds a page.
#[tokio::test]
async fn answers_without_a_key_that_nobody_takes_are_bounded() {
    let paths = [("/docs", 503), ("/v1/openapi.json", 503), ("/v1/none", 404), ("/v1/models", 401)];
    for edge in TestEdge::both("cleartext_http2 = true").await {
        for (path, beyond) in paths {
            for window in WINDOWS {
                expect_bound(&edge, window, path, beyond).await;
            }
        }
    }
}

/// Without it a key that may have a few requests under way has as many answers in memory as it opens streams, each of many MiB.
#[tokio::test]
async fn an_answer_that_nobody_takes_counts_among_the_requests_of_its_key() {
    const MOST: usize = 4;
    for window in WINDOWS {
        for edge in TestEdge::both("cleartext_http2 = true\nlimits = { requests_per_key = 4 }").await {
            let sender = narrow(&edge, window).await;
            let ask = async || {
                let body = r#"{"model":"a","bytes":1000000}"#;
                let request = post(&edge, "https://gate.test/v1/chat/completions", Version::HTTP_2, body);
                let mut sender = sender.clone();
                sender.send_request(request).await.unwrap()
            };
            let mut open = Vec::new();
            for number in 0..20 {
                let expected: u16 = if number < MOST { 200 } else { 429 };
                let response = ask().await;
                assert_eq!(response.status(), expected, "window {window}: request {number}");
                open.push(response);
            }
            drop(open);
            until("what its client has given up counts no more", async || {
                ask().await.status() == StatusCode::OK
            })
            .await;
        }
    }
}
