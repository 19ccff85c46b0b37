//! The admin listener: operations behind the token; health and metrics without it.
//!
//! HTTP/1.1 only; most connections carry one request. Everything is bounded: the number of connections, the time
//! for head and body, and the body's size. The body is read only after the token was checked.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::Clock;
use http::header::{ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::api::error::OperationError;
use crate::api::operation::Operation;
use crate::service::AdminService;
use crate::token::Token;

/// Enough for the largest component that a configuration can allow, in base64.
const MAX_BODY_BYTES: usize = 64 << 20;
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_CONNECTIONS: usize = 64;
const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// The pages of the listener that need no token.
pub struct Probes {
    /// Renders every metric in the Prometheus text form, for `/metrics`.
    pub metrics: Box<dyn Fn() -> String + Send + Sync>,
    /// Whether the gateway takes new work, for `/readyz`.
    pub is_ready: Box<dyn Fn() -> bool + Send + Sync>,
}

/// A running listener.
#[derive(Debug)]
pub struct AdminServer {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

struct Handler {
    token: Token,
    service: Arc<AdminService>,
    probes: Probes,
}

impl AdminServer {
    /// Binds `listen` and serves until [`AdminServer::stop`].
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn start(
        listen: SocketAddr,
        token: Token,
        service: Arc<AdminService>,
        probes: Probes,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let handler = Arc::new(Handler { token, service, probes });
        let serving = tokio::spawn(accept(listener, handler, clock, stopped));
        Ok(Self { address, stop, serving })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening, lets running operations end, and returns when all is closed.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if let Err(error) = self.serving.await {
            tracing::error!(%error, "the admin listener failed");
        }
    }
}

async fn accept(
    listener: TcpListener,
    handler: Arc<Handler>,
    clock: Arc<dyn Clock>,
    mut stopped: watch::Receiver<bool>,
) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let permit = permits.clone().acquire_owned().await.expect("the semaphore is never closed");
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping(&mut stopped) => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let (handler, stopped) = (handler.clone(), stopped.clone());
                connections.spawn(async move {
                    serve(stream, handler, stopped).await;
                    drop(permit);
                });
            }
            Err(error) => {
                // Most often the process is out of file descriptors; a moment later it may not be.
                tracing::warn!(%error, "the admin listener could not accept a connection");
                clock.pause(Duration::from_millis(100)).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    connections.join_all().await;
}

async fn serve(stream: TcpStream, handler: Arc<Handler>, mut stopped: watch::Receiver<bool>) {
    let service = service_fn(move |request| {
        let handler = handler.clone();
        async move { Ok::<_, Infallible>(handler.respond(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(32 << 10)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopping(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "an admin connection ended early");
    }
}

async fn stopping(stopped: &mut watch::Receiver<bool>) {
    // An error means that the `AdminServer` was dropped, which stops it too.
    drop(stopped.wait_for(|&stop| stop).await);
}

impl Handler {
    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let read = matches!(*request.method(), Method::GET | Method::HEAD);
        match (request.uri().path(), read) {
            ("/livez", true) => page(StatusCode::OK, TEXT, "alive\n"),
            ("/readyz", true) if (self.probes.is_ready)() => page(StatusCode::OK, TEXT, "ready\n"),
            ("/readyz", true) => page(StatusCode::SERVICE_UNAVAILABLE, TEXT, "not ready\n"),
            ("/metrics", true) => page(StatusCode::OK, "text/plain; version=0.0.4", (self.probes.metrics)()),
            ("/admin/operations", false) if request.method() == Method::POST => self.perform(request).await,
            ("/livez" | "/readyz" | "/metrics", _) => wrong_method("GET, HEAD"),
            ("/admin/operations", _) => wrong_method("POST"),
            (path, _) => refuse(&OperationError::NotFound(format!("no page at {path}"))),
        }
    }

    async fn perform(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let presented = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if !presented.is_some_and(|presented| self.token.matches(presented)) {
            let mut response = page(StatusCode::UNAUTHORIZED, TEXT, "this needs the admin token\n");
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return response;
        }
        let operation = match read_operation(request.into_body()).await {
            Ok(operation) => operation,
            Err(error) => return refuse(&error),
        };
        tracing::info!(?operation, "admin operation");
        match self.service.perform(operation).await {
            Ok(result) => json(StatusCode::OK, &result),
            Err(error) => {
                tracing::warn!(%error, "admin operation refused");
                refuse(&error)
            }
        }
    }
}

async fn read_operation(body: Incoming) -> Result<Operation, OperationError> {
    let reading = Limited::new(body, MAX_BODY_BYTES).collect();
    let body = match tokio::time::timeout(BODY_TIMEOUT, reading).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) => {
            return Err(OperationError::Invalid(format!("the body could not be read: {error}")));
        }
        Err(_) => return Err(OperationError::Invalid("the body did not arrive in time".to_owned())),
    };
    serde_json::from_slice(&body)
        .map_err(|error| OperationError::Invalid(format!("the body is not an operation: {error}")))
}

fn refuse(error: &OperationError) -> Response<Full<Bytes>> {
    let status = match error {
        OperationError::Invalid(_) => StatusCode::BAD_REQUEST,
        OperationError::Misconfigured(_) => StatusCode::UNPROCESSABLE_ENTITY,
        OperationError::NotFound(_) => StatusCode::NOT_FOUND,
        OperationError::Refused(_) | OperationError::PluginRefused { .. } => StatusCode::CONFLICT,
        OperationError::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
        OperationError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    json(status, error)
}

fn wrong_method(allowed: &'static str) -> Response<Full<Bytes>> {
    let mut response = page(StatusCode::METHOD_NOT_ALLOWED, TEXT, format!("allowed here: {allowed}\n"));
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

fn json(status: StatusCode, value: &impl serde::Serialize) -> Response<Full<Bytes>> {
    let text = serde_json::to_vec(value).expect("results and errors have string keys only");
    page(status, JSON, text)
}

fn page(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
