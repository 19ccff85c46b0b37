//! The HTTP/1.1 server of every simulated provider.
//!
//! Owns listeners on 127.0.0.1, their connections, and the reply shapes that handlers share. Knows no route.

use std::borrow::Cow;
use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, StreamExt as _};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::form_urlencoded;

use crate::common::clock;
use crate::common::connection::Connection;

/// Open connections of one listener; more wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 4096;

/// The page of a proxy in front of a provider that is down.
pub(crate) const UNAVAILABLE_PAGE: &str =
    "<html><body><h1>503 Service Temporarily Unavailable</h1></body></html>\n";
/// The page that comes instead of a file.
pub(crate) const SIGN_IN_PAGE: &str = "<html><body>Sign in to continue</body></html>\n";

/// A reply's body; an error in it breaks the connection in the middle.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A reply; on an error the connection closes without one.
pub(crate) type HandlerResult = io::Result<Response<Body>>;

/// The error that closes a connection on purpose.
pub(crate) fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "closed on purpose")
}

/// A bound listener and the origin it is reached at.
pub(crate) struct Listener {
    listener: TcpListener,
    /// `http://127.0.0.1:<port>`.
    pub(crate) origin: String,
}

impl Listener {
    /// Binds a port of 127.0.0.1; 0 lets the system choose.
    pub(crate) async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let origin = format!("http://{}", listener.local_addr()?);
        Ok(Self { listener, origin })
    }

    /// Answers every request with `answer`, which gets what the listener shares. Until the future is dropped, which also drops
    /// every open connection.
    pub(crate) fn serve<S, F, A>(
        self,
        shared: &Arc<S>,
        answer: F,
    ) -> impl Future<Output = ()> + Send + use<S, F, A>
    where
        S: Send + Sync + 'static,
        F: Fn(Arc<S>, Request<Incoming>) -> A + Send + Sync + 'static,
        A: Future<Output = HandlerResult> + Send + 'static,
    {
        let shared = Arc::clone(shared);
        self.serve_all(Arc::new(move |request| Box::pin(answer(Arc::clone(&shared), request))))
    }

    async fn serve_all(self, answer: Answer) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                    Ok((stream, _)) => { connections.spawn(serve_connection(stream, Arc::clone(&answer))); }
                    Err(error) => {
                        tracing::warn!(origin = %self.origin, %error, "sandbox could not accept a connection");
                        clock::pause(Duration::from_millis(50)).await;
                    }
                },
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

/// Answers of any kind: one server is compiled for all of them.
type Answer = Arc<dyn Fn(Request<Incoming>) -> Answering + Send + Sync>;
type Answering = Pin<Box<dyn Future<Output = HandlerResult> + Send>>;

/// One connection, from its first request to its last.
async fn serve_connection(stream: TcpStream, answer: Answer) {
    let connection = Connection::new(stream);
    let reset_switch = connection.reset_switch.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(reset_switch.clone());
        answer(request)
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(connection), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "sandbox connection ended early");
    }
}

/// Reads the whole body; gives `None` when it has more than `limit` bytes. Of a longer body up to `limit` more bytes are read and dropped:
/// a client that still writes would otherwise lose the refusal to a reset.
pub(crate) async fn read(mut body: Incoming, limit: usize) -> io::Result<Option<Bytes>> {
    let (mut kept, mut over) = (BytesMut::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(io::Error::other)?.into_data() else { continue };
        if over > 0 || kept.len() + data.len() > limit {
            over += data.len();
            kept.clear();
        } else {
            kept.extend_from_slice(&data);
        }
        if over > limit {
            break;
        }
    }
    Ok((over == 0).then(|| kept.freeze()))
}

/// What stands behind `Bearer` in `Authorization`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

/// The content type of a request, without its parameters.
pub(crate) fn mime(headers: &HeaderMap) -> &str {
    let mime = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    mime.split(';').next().unwrap_or_default().trim()
}

/// The value of a query's parameter.
pub(crate) fn parameter<'a>(query: &'a str, name: &str) -> Option<Cow<'a, str>> {
    form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value)
}

/// A reply of one piece.
pub(crate) fn reply(status: u16, mime: &'static str, bytes: impl Into<Bytes>) -> Response<Body> {
    let body = Full::new(bytes.into()).map_err(|never: Infallible| match never {});
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(status).expect("handlers give statuses of three digits");
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(mime));
    response
}

/// A JSON reply.
pub(crate) fn json(status: u16, value: &serde_json::Value) -> Response<Body> {
    reply(status, "application/json", value.to_string())
}

/// An error as object stores write it.
pub(crate) fn xml(status: u16, code: &str) -> Response<Body> {
    let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code></Error>\n");
    reply(status, "application/xml", body)
}

/// Promises the whole file, sends half of it and breaks the connection.
pub(crate) fn truncated(mime: &'static str, file: &Bytes) -> Response<Body> {
    let half = stream::iter([Ok(Frame::data(file.slice(..file.len() / 2)))]);
    let cut = stream::once(async {
        // The server writes its buffer only when it has nothing else to do.
        tokio::task::yield_now().await;
        Err(closed())
    });
    let response = reply(200, mime, Bytes::new());
    with(response, "content-length", &file.len().to_string())
        .map(|_| BodyExt::boxed_unsync(StreamBody::new(half.chain(cut))))
}

/// Adds a header whose value is made of visible ASCII by construction.
pub(crate) fn with(mut response: Response<Body>, name: &'static str, value: &str) -> Response<Body> {
    let value = HeaderValue::from_str(value).expect("callers pass numbers and URLs of their own making");
    response.headers_mut().insert(HeaderName::from_static(name), value);
    response
}
