//! The client of the admin API: a command on the same machine has a running gateway perform an operation.
//!
//! Connects to the address in the endpoint file and to nothing else; over TLS where that file says so.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::Boxed;
use gatehouse_net::TlsError;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::api::error::OperationError;
use crate::api::operation::Operation;
use crate::api::result::OperationResult;
use crate::client_tls::{ClientTls, reason_of};
use crate::config::AdminClient;
use crate::endpoint_file::AdminEndpoint;

const MAX_RESPONSE_BYTES: usize = 64 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// To compile a large component, or to sum up a large ledger, may take minutes.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(600);

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No response from the address in the endpoint file.
    #[error("no response from {address}: {reason}")]
    Unreachable {
        /// The address.
        address: std::net::SocketAddr,
        /// The reason.
        reason: String,
    },
    /// What the configuration names for TLS cannot be used, or is missing.
    #[error(
        "{0}; the gateway's admin listener speaks TLS: [admin.client] or --admin-ca, --admin-certificate and --admin-key name what a command needs"
    )]
    Files(#[from] TlsError),
    /// The listener and the command do not take what the other presents.
    #[error("no TLS connection to {address}: {reason}")]
    Tls {
        /// The address.
        address: std::net::SocketAddr,
        /// Which side refused what, and the remedy.
        reason: String,
    },
    /// The listener at the address belongs to another program.
    #[error("the listener at {address} is not this gateway's: {reason}")]
    Foreign {
        /// The address.
        address: std::net::SocketAddr,
        /// Its response.
        reason: String,
    },
    /// The gateway refused the operation.
    #[error(transparent)]
    Refused(#[from] OperationError),
}

/// Has a running gateway perform `operation`. `client` counts only where the gateway's listener speaks TLS.
///
/// # Errors
/// See [`ClientError`].
pub fn perform<'a>(
    endpoint: &'a AdminEndpoint,
    client: &'a AdminClient,
    operation: &'a Operation,
) -> Boxed<'a, Result<OperationResult, ClientError>> {
    Box::pin(async move {
        let tls = if endpoint.tls { Some(ClientTls::from_files(client)?) } else { None };
        let exchange = exchange(endpoint, tls.as_ref(), operation);
        let (status, body) = tokio::time::timeout(RESPONSE_TIMEOUT, exchange)
            .await
            .map_err(|_| unreachable(endpoint, "no response in time"))??;
        read_response(endpoint, status, &body)
    })
}

async fn exchange(
    endpoint: &AdminEndpoint,
    tls: Option<&ClientTls>,
    operation: &Operation,
) -> Result<(StatusCode, Bytes), ClientError> {
    let stream = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(endpoint.address))
        .await
        .map_err(|_| unreachable(endpoint, "no connection in time"))?
        .map_err(|error| unreachable(endpoint, error))?;
    let Some(tls) = tls else {
        return send(endpoint, stream, operation).await;
    };
    let refused = |reason| ClientError::Tls { address: endpoint.address, reason };
    let stream = tokio::time::timeout(CONNECT_TIMEOUT, tls.connect(endpoint.address, stream))
        .await
        .map_err(|_| unreachable(endpoint, "no TLS handshake in time"))?
        .map_err(|error| refused(reason_of(&error)))?;
    send(endpoint, stream, operation).await
}

async fn send(
    endpoint: &AdminEndpoint,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    operation: &Operation,
) -> Result<(StatusCode, Bytes), ClientError> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| broken(endpoint, &error))?;
    // The exchange reports what goes wrong; the task only moves bytes.
    let connection = tokio::spawn(connection);
    let body = serde_json::to_vec(operation).expect("operations have string keys only");
    let request = Request::post("/admin/operations")
        .header(HOST, endpoint.address.to_string())
        .header(AUTHORIZATION, format!("Bearer {}", endpoint.token.reveal()))
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| unreachable(endpoint, error))?;
    let response = match sender.send_request(request).await {
        Ok(response) => response,
        Err(error) => {
            // An error without its cause: what ended the connection before it took the request, its task knows.
            drop(sender);
            let ended = match io_cause(&error) {
                None if error.is_canceled() => tokio::time::timeout(CONNECT_TIMEOUT, connection).await.ok(),
                _ => None,
            };
            let ended = ended.and_then(Result::ok).and_then(Result::err);
            return Err(broken(endpoint, ended.as_ref().unwrap_or(&error)));
        }
    };
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES)
        .collect()
        .await
        .map_err(|error| foreign(endpoint, error))?;
    connection.abort();
    Ok((status, body.to_bytes()))
}

fn read_response(
    endpoint: &AdminEndpoint,
    status: StatusCode,
    body: &[u8],
) -> Result<OperationResult, ClientError> {
    match status {
        StatusCode::OK => serde_json::from_slice(body).map_err(|error| foreign(endpoint, error)),
        StatusCode::UNAUTHORIZED => Err(foreign(endpoint, "it does not accept the token in admin.json")),
        status => match serde_json::from_slice::<OperationError>(body) {
            Ok(error) => Err(error.into()),
            Err(_) => Err(foreign(endpoint, status)),
        },
    }
}

fn unreachable(endpoint: &AdminEndpoint, reason: impl std::fmt::Display) -> ClientError {
    ClientError::Unreachable { address: endpoint.address, reason: reason.to_string() }
}

fn foreign(endpoint: &AdminEndpoint, reason: impl std::fmt::Display) -> ClientError {
    ClientError::Foreign { address: endpoint.address, reason: reason.to_string() }
}

/// A connection that ended instead of an answer. With TLS 1.3 the listener refuses a certificate only after the
/// command's side of the handshake has ended.
fn broken(endpoint: &AdminEndpoint, error: &hyper::Error) -> ClientError {
    let address = endpoint.address;
    match io_cause(error) {
        Some(refused) if endpoint.tls => ClientError::Tls { address, reason: reason_of(refused) },
        None if error.is_parse() && !endpoint.tls => {
            let reason =
                "its answer is no HTTP: it may expect TLS, of which admin.json says nothing".to_owned();
            ClientError::Tls { address, reason }
        }
        _ => unreachable(endpoint, error),
    }
}

fn io_cause(error: &hyper::Error) -> Option<&io::Error> {
    let mut causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.find_map(|cause| cause.downcast_ref::<io::Error>())
}
