//! A client that keeps its connection for as long as the server does, and never asks twice.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::Answer;

/// One HTTP/1.1 connection at a time.
pub struct Line {
    address: SocketAddr,
    sender: Option<SendRequest<Full<Bytes>>>,
    connections: usize,
}

impl Line {
    /// A client of that address, not connected yet.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self { address, sender: None, connections: 0 }
    }

    /// The same client without a connection.
    #[must_use]
    pub fn afresh(&self) -> Self {
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
    /// Whatever the connection says.
    pub async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
        let mut sender = self.connected().await?;
        let mut request = Request::builder()
            .method(Method::from_bytes(method.as_bytes())?)
            .uri(path)
            .header("host", self.address.to_string());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = sender.send_request(request.body(Full::new(body.into()))?).await?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let body = answer.into_body().collect().await?.to_bytes();
        if headers.get("connection").is_none_or(|value| value != "close") {
            self.sender = Some(sender);
        }
        Ok(Answer { status, headers, body })
    }

    async fn connected(
        &mut self,
    ) -> Result<SendRequest<Full<Bytes>>, Box<dyn std::error::Error + Send + Sync>> {
        if let Some(mut kept) = self.sender.take()
            && kept.ready().await.is_ok()
        {
            return Ok(kept);
        }
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        self.connections += 1;
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        sender.ready().await?;
        Ok(sender)
    }
}
