//! A client that keeps its connection for as long as the server does, and never sends a request twice.

use std::net::SocketAddr;

use bytes::Bytes;

use super::Error;
use super::client::exchange;
use super::connection::Connection;
use super::response::Response;

/// One HTTP/1.1 connection at a time.
#[derive(Debug)]
pub struct PersistentClient {
    address: SocketAddr,
    kept: Option<Connection>,
    connections: usize,
}

impl PersistentClient {
    /// A client of that address, not connected yet.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self { address, kept: None, connections: 0 }
    }

    /// Another client of the same address, without a connection.
    #[must_use]
    pub fn fresh(&self) -> Self {
        Self::new(self.address)
    }

    /// How often it had to connect so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections
    }

    /// Sends one request on the connection there is. A new one is made only where the server was seen to have
    /// ended the last; a request cut off by its end is an error.
    ///
    /// # Errors
    /// Where the connection fails, or no whole answer comes.
    pub async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Response, Error> {
        let mut connection = match self.kept.take().filter(|kept| !kept.is_closed()) {
            Some(kept) => kept,
            None => {
                self.connections += 1;
                Connection::try_open(self.address).await?
            }
        };
        let response = exchange(&mut connection, method, path, headers, &body.into()).await?;
        if response.header("connection") != "close" {
            self.kept = Some(connection);
        }
        Ok(response)
    }
}
