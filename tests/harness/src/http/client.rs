//! Requests of one line: a connection for each, every header in the caller's hands.

use std::net::SocketAddr;

use bytes::Bytes;

use super::Error;
use super::connection::Connection;
use super::response::{End, Response};

/// Sends one request; fails the test where the connection fails.
pub async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Response {
    try_send(address, method, path, headers, body.into()).await.expect("an answer")
}

/// A GET of a whole URL such as the gateway hands out.
pub async fn send_to(url: &str, headers: &[(&str, &str)]) -> Response {
    let (authority, path) = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .unwrap_or_else(|| panic!("expected http://host:port/path, got {url}"));
    let address = authority.parse().expect("an address with a port");
    send(address, "GET", &format!("/{path}"), headers, Bytes::new()).await
}

/// Sends one request where the gateway may be gone.
///
/// # Errors
/// Where the connection fails, or no whole answer comes.
pub async fn try_send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Result<Response, Error> {
    let mut connection = Connection::try_open(address).await?;
    exchange(&mut connection, method, path, headers, &body).await
}

/// One request and its whole answer, interim answers left out.
pub(super) async fn exchange(
    connection: &mut Connection,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<Response, Error> {
    connection.request(method, path, headers, body).await;
    loop {
        let response = match method {
            "HEAD" => connection.read_head().await,
            _ => connection.try_read().await,
        };
        let response = response.ok_or("closed without an answer")?;
        if response.end != End::Whole {
            return Err(format!("cut short: {response:?}").into());
        }
        if !matches!(response.status, 100..=199) {
            return Ok(response);
        }
    }
}
