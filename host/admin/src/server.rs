//! The admin listener: operations behind the token; health and metrics for whoever reaches the listener.
//!
//! HTTP/1.1 only, one request a connection is the normal case. Small and bounded: a fixed number of
//! connections, timers on head and body, and the body is read after the token has been checked.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
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

use crate::{Operation, OperationError, Outcome, Token};

/// A component of the largest size an operator may allow, in base64.
const BODY_LIMIT: usize = 64 << 20;
const BODY_PATIENCE: Duration = Duration::from_secs(60);
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
const CONNECTIONS: usize = 64;
const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// An operation being performed.
pub type Performing<'a> = Pin<Box<dyn Future<Output = Result<Outcome, OperationError>> + Send + 'a>>;

/// The gateway behind the door.
pub trait Operations: Send + Sync + 'static {
    /// Performs one operation.
    fn perform(&self, operation: Operation) -> Performing<'_>;

    /// Every metric in the Prometheus text form.
    fn metrics(&self) -> String;

    /// Whether new work is welcome.
    fn is_ready(&self) -> bool;
}

/// The standing listener.
#[derive(Debug)]
pub struct Admin {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

struct Desk {
    token: Token,
    operations: Arc<dyn Operations>,
}

impl Admin {
    /// Binds `listen` and serves until [`Admin::stop`].
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn start(
        listen: SocketAddr,
        token: Token,
        operations: Arc<dyn Operations>,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let desk = Arc::new(Desk { token, operations });
        let serving = tokio::spawn(accept(listener, desk, clock, stopped));
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
            tracing::error!(%error, "the admin listener ended badly");
        }
    }
}

async fn accept(
    listener: TcpListener,
    desk: Arc<Desk>,
    clock: Arc<dyn Clock>,
    mut stopped: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let place = places.clone().acquire_owned().await.expect("the semaphore is never closed");
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop_asked(&mut stopped) => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let (desk, stopped) = (desk.clone(), stopped.clone());
                connections.spawn(async move {
                    serve(stream, desk, stopped).await;
                    drop(place);
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

async fn serve(stream: TcpStream, desk: Arc<Desk>, mut stopped: watch::Receiver<bool>) {
    let service = service_fn(move |request| {
        let desk = desk.clone();
        async move { Ok::<_, Infallible>(desk.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_buf_size(32 << 10)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop_asked(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "an admin connection ended early");
    }
}

async fn stop_asked(stopped: &mut watch::Receiver<bool>) {
    // An error means the `Admin` is gone, which is the same wish.
    drop(stopped.wait_for(|&stop| stop).await);
}

impl Desk {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let read = matches!(*request.method(), Method::GET | Method::HEAD);
        match (request.uri().path(), read) {
            ("/livez", true) => page(StatusCode::OK, TEXT, "alive\n"),
            ("/readyz", true) if self.operations.is_ready() => page(StatusCode::OK, TEXT, "ready\n"),
            ("/readyz", true) => page(StatusCode::SERVICE_UNAVAILABLE, TEXT, "not ready\n"),
            ("/metrics", true) => {
                page(StatusCode::OK, "text/plain; version=0.0.4", self.operations.metrics())
            }
            ("/admin/operations", false) if request.method() == Method::POST => self.operate(request).await,
            ("/livez" | "/readyz" | "/metrics", _) => wrong_method("GET, HEAD"),
            ("/admin/operations", _) => wrong_method("POST"),
            (path, _) => refusal(&OperationError::NotFound(format!("nothing is served at {path}"))),
        }
    }

    async fn operate(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let presented = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if !presented.is_some_and(|presented| self.token.opens(presented)) {
            let mut answer = page(StatusCode::UNAUTHORIZED, TEXT, "this needs the admin token\n");
            answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return answer;
        }
        let operation = match read_operation(request.into_body()).await {
            Ok(operation) => operation,
            Err(error) => return refusal(&error),
        };
        tracing::info!(?operation, "admin operation");
        match self.operations.perform(operation).await {
            Ok(outcome) => json(StatusCode::OK, &outcome),
            Err(error) => {
                tracing::warn!(%error, "admin operation not performed");
                refusal(&error)
            }
        }
    }
}

async fn read_operation(body: Incoming) -> Result<Operation, OperationError> {
    let reading = Limited::new(body, BODY_LIMIT).collect();
    let body = match tokio::time::timeout(BODY_PATIENCE, reading).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) => {
            return Err(OperationError::Invalid(format!("the body could not be read: {error}")));
        }
        Err(_) => return Err(OperationError::Invalid("the body did not arrive in time".to_owned())),
    };
    serde_json::from_slice(&body)
        .map_err(|error| OperationError::Invalid(format!("the body is not an operation: {error}")))
}

fn refusal(error: &OperationError) -> Response<Full<Bytes>> {
    let status = match error {
        OperationError::Invalid(_) => StatusCode::BAD_REQUEST,
        OperationError::NotFound(_) => StatusCode::NOT_FOUND,
        OperationError::Refused(_) | OperationError::PluginRefused { .. } => StatusCode::CONFLICT,
        OperationError::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
        OperationError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    json(status, error)
}

fn wrong_method(allowed: &'static str) -> Response<Full<Bytes>> {
    let mut answer = page(StatusCode::METHOD_NOT_ALLOWED, TEXT, format!("allowed here: {allowed}\n"));
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    answer
}

fn json(status: StatusCode, value: &impl serde::Serialize) -> Response<Full<Bytes>> {
    let text = serde_json::to_vec(value).expect("outcomes and errors have string keys only");
    page(status, JSON, text)
}

fn page(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
