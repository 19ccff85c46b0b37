//! The scripted provider: a real HTTP server on a loopback port of its own. A function answers each request, and
//! every request is kept.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{HeaderMap, Method, Version};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// What a provider answers.
pub type Reply = http::Response<Full<Bytes>>;

/// An answer with these headers.
#[must_use]
pub fn reply(status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Reply {
    let mut response = http::Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Full::new(body.into())).expect("a status and headers")
}

/// A request as the provider received it.
#[derive(Clone, Debug)]
pub struct Received {
    /// The method.
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// The protocol it came by.
    pub version: Version,
    /// All headers.
    pub headers: HeaderMap,
    /// The whole body, or nothing where the client left before its end.
    pub body: Bytes,
}

impl Received {
    /// A header as text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("text"))
    }

    /// The path without its query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }
}

/// A running provider. It ends with its runtime.
#[derive(Clone)]
pub struct Provider {
    /// Where it listens.
    pub address: SocketAddr,
    script: Arc<Script>,
}

struct Script {
    answer: Box<dyn Fn(&Received) -> Reply + Send + Sync>,
    received: Mutex<Vec<Received>>,
}

impl Provider {
    /// Starts a provider that answers as `script` says, in HTTP/1.1 or HTTP/2.
    pub async fn start(script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_over(script, |stream| async { Some(stream) }).await
    }

    /// The same with connections that are wrapped first, in TLS for one; `None` drops the connection.
    pub async fn start_over<W, F, S>(
        script: impl Fn(&Received) -> Reply + Send + Sync + 'static,
        wrap: W,
    ) -> Self
    where
        W: Fn(TcpStream) -> F + Send + Sync + 'static,
        F: Future<Output = Option<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let script = Arc::new(Script { answer: Box::new(script), received: Mutex::default() });
        let (shared, wrap) = (Arc::clone(&script), Arc::new(wrap));
        let address = serve_connections(move |stream| {
            let (script, wrap) = (Arc::clone(&shared), Arc::clone(&wrap));
            async move {
                let Some(stream) = wrap(stream).await else { return };
                let service = service_fn(move |request| Arc::clone(&script).serve(request));
                let builder = auto::Builder::new(TokioExecutor::new());
                // A client that goes away is part of some tests.
                let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            }
        })
        .await;
        Self { address, script }
    }

    /// Its address as a base URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.script.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The one request there was; fails the test where there were none or more.
    #[must_use]
    pub fn only(&self) -> Received {
        let mut received = self.received();
        assert_eq!(received.len(), 1, "{received:?}");
        received.remove(0)
    }
}

impl Script {
    async fn serve(self: Arc<Self>, request: http::Request<Incoming>) -> Result<Reply, Infallible> {
        let (head, body) = request.into_parts();
        let target = head.uri.path_and_query().expect("a target").to_string();
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let received =
            Received { method: head.method, target, version: head.version, headers: head.headers, body };
        self.received.lock().unwrap_or_else(PoisonError::into_inner).push(received.clone());
        Ok((self.answer)(&received))
    }
}

/// A server that gives each HTTP/1.1 request to `answer`; nothing is kept of it. Returns its address.
pub async fn serve_http<F, B>(
    answer: impl Fn(http::Request<Incoming>) -> F + Clone + Send + Sync + 'static,
) -> SocketAddr
where
    F: Future<Output = http::Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    serve_connections(move |stream| {
        stream.set_nodelay(true).expect("a fresh socket");
        let answer = answer.clone();
        let service = service_fn(move |request| answer(request).map(Ok::<_, Infallible>));
        let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        // A client that stops takes its connections with it.
        async move { drop(served.await) }
    })
    .await
}

/// A server for tests that speak bytes: gives each connection to `act`. Returns its address.
pub async fn serve_connections<F>(act: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(act(stream));
        }
    });
    address
}
