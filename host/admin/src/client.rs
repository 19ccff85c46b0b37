//! The client of the admin API: a command on the same machine has a running gateway perform an operation.
//!
//! Connects to the address in the endpoint file and to nothing else.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::api::error::OperationError;
use crate::api::operation::Operation;
use crate::api::result::OperationResult;
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

/// Has a running gateway perform `operation`.
///
/// # Errors
/// See [`ClientError`].
pub async fn perform(
    endpoint: &AdminEndpoint,
    operation: &Operation,
) -> Result<OperationResult, ClientError> {
    let exchange = exchange(endpoint, operation);
    let (status, body) = tokio::time::timeout(RESPONSE_TIMEOUT, exchange)
        .await
        .map_err(|_| unreachable(endpoint, "no response in time"))??;
    read_response(endpoint, status, &body)
}

async fn exchange(
    endpoint: &AdminEndpoint,
    operation: &Operation,
) -> Result<(StatusCode, Bytes), ClientError> {
    let stream = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(endpoint.address))
        .await
        .map_err(|_| unreachable(endpoint, "no connection in time"))?
        .map_err(|error| unreachable(endpoint, error))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| unreachable(endpoint, error))?;
    // The exchange reports what goes wrong; the task only moves bytes.
    let connection = tokio::spawn(connection);
    let body = serde_json::to_vec(operation).expect("operations have string keys only");
    let request = Request::post("/admin/operations")
        .header(HOST, endpoint.address.to_string())
        .header(AUTHORIZATION, format!("Bearer {}", endpoint.token.reveal()))
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| unreachable(endpoint, error))?;
    let response = sender.send_request(request).await.map_err(|error| unreachable(endpoint, error))?;
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
