//! The other side of the door: a command on the same machine asks the gateway that has the store open.
//!
//! Connects to the address the door's file names and to nothing else.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::{Door, Operation, OperationError, Outcome};

const ANSWER_LIMIT: usize = 64 << 20;
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// Compiling a large component, or re-summing a large ledger, may take minutes.
const ANSWER_PATIENCE: Duration = Duration::from_secs(600);

/// Why the door gave no outcome.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Nobody answers at the address the file names.
    #[error("nobody answers at {address}: {reason}")]
    Closed {
        /// The address.
        address: std::net::SocketAddr,
        /// Why.
        reason: String,
    },
    /// Something answered that is not this gateway's door.
    #[error("what answers at {address} is not this gateway: {reason}")]
    Foreign {
        /// The address.
        address: std::net::SocketAddr,
        /// What it said.
        reason: String,
    },
    /// The gateway refused.
    #[error(transparent)]
    Refused(#[from] OperationError),
}

/// Has a running gateway perform `operation`.
///
/// # Errors
/// See [`ClientError`].
pub async fn ask(door: &Door, operation: &Operation) -> Result<Outcome, ClientError> {
    let exchange = exchange(door, operation);
    let (status, body) = tokio::time::timeout(ANSWER_PATIENCE, exchange)
        .await
        .map_err(|_| closed(door, "no answer in time"))??;
    read_answer(door, status, &body)
}

async fn exchange(door: &Door, operation: &Operation) -> Result<(StatusCode, Bytes), ClientError> {
    let stream = tokio::time::timeout(CONNECT_PATIENCE, TcpStream::connect(door.address))
        .await
        .map_err(|_| closed(door, "no connection in time"))?
        .map_err(|error| closed(door, error))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| closed(door, error))?;
    // The exchange reports what goes wrong; the task only moves bytes.
    let connection = tokio::spawn(connection);
    let body = serde_json::to_vec(operation).expect("operations have string keys only");
    let request = Request::post("/admin/operations")
        .header(HOST, door.address.to_string())
        .header(AUTHORIZATION, format!("Bearer {}", door.token.reveal()))
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| closed(door, error))?;
    let answer = sender.send_request(request).await.map_err(|error| closed(door, error))?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), ANSWER_LIMIT)
        .collect()
        .await
        .map_err(|error| foreign(door, error))?;
    connection.abort();
    Ok((status, body.to_bytes()))
}

fn read_answer(door: &Door, status: StatusCode, body: &[u8]) -> Result<Outcome, ClientError> {
    match status {
        StatusCode::OK => serde_json::from_slice(body).map_err(|error| foreign(door, error)),
        StatusCode::UNAUTHORIZED => Err(foreign(door, "it does not know the token in admin.json")),
        status => match serde_json::from_slice::<OperationError>(body) {
            Ok(error) => Err(error.into()),
            Err(_) => Err(foreign(door, status)),
        },
    }
}

fn closed(door: &Door, reason: impl std::fmt::Display) -> ClientError {
    ClientError::Closed { address: door.address, reason: reason.to_string() }
}

fn foreign(door: &Door, reason: impl std::fmt::Display) -> ClientError {
    ClientError::Foreign { address: door.address, reason: reason.to_string() }
}
