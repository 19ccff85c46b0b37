//! One connection: bytes out, answers in, nothing hidden.

use std::io;
use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use memchr::memmem;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::response::{End, Framing, Response};

/// An HTTP/1 connection in the test's hands.
#[derive(Debug)]
pub struct Connection<S = TcpStream> {
    stream: S,
    /// What came and is not yet part of an answer.
    ahead: BytesMut,
    /// Why nothing more comes.
    broken: Option<io::ErrorKind>,
}

impl Connection {
    /// Connects; fails the test where the connection is refused.
    pub async fn open(address: SocketAddr) -> Self {
        Self::try_open(address).await.expect("a connection")
    }

    /// Connects.
    ///
    /// # Errors
    /// Where the connection is refused.
    pub async fn try_open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self::over(stream))
    }

    /// Writes a request with its length, and its `Host` where the headers have none. Reads meanwhile: a server may
    /// answer before it has the whole body.
    pub async fn request(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) {
        let given = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        let mut bytes = format!("{method} {target} HTTP/1.1\r\n");
        if !given("host") {
            let peer = self.stream.peer_addr().map(|peer| peer.to_string()).unwrap_or_default();
            bytes += &format!("host: {peer}\r\n");
        }
        for (name, value) in headers {
            bytes += &format!("{name}: {value}\r\n");
        }
        let has_body = !body.is_empty() || !matches!(method, "GET" | "HEAD");
        if has_body && !given("content-length") && !given("transfer-encoding") {
            bytes += &format!("content-length: {}\r\n", body.len());
        }
        bytes += "\r\n";
        let bytes = [bytes.as_bytes(), body].concat();
        let (mut input, mut output) = self.stream.split();
        let writing = output.write_all(&bytes);
        tokio::pin!(writing);
        while self.broken.is_none() {
            tokio::select! {
                biased;
                // A server that has hung up is seen when its answer is read.
                _ = &mut writing => return,
                read = input.read_buf(&mut self.ahead) => self.broken = ended(&read),
            }
        }
    }

    /// Whether the server was seen to have closed, between two answers.
    pub(super) fn is_closed(&self) -> bool {
        let mut byte = [0];
        let idle = matches!(self.stream.try_read(&mut byte), Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        !idle || self.broken.is_some() || !self.ahead.is_empty()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Over a stream that is open already.
    pub fn over(stream: S) -> Self {
        Self { stream, ahead: BytesMut::new(), broken: None }
    }

    /// Writes bytes and reads nothing meanwhile. A server that has hung up already is no failure here.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref()).await;
        let _ = self.stream.flush().await;
    }

    /// Ends this side: nothing more will be sent.
    pub async fn finish(&mut self) {
        let _ = self.stream.shutdown().await;
    }

    /// What came and was not read as an answer yet.
    #[must_use]
    pub fn ahead(&self) -> &[u8] {
        &self.ahead
    }

    /// Reads until `text` has come, without taking it; fails the test where the server ends before.
    pub async fn until(&mut self, text: &str) {
        while memmem::find(&self.ahead, text.as_bytes()).is_none() {
            let more = self.fill().await;
            assert!(more, "ended before {text:?}: {}", String::from_utf8_lossy(&self.ahead));
        }
    }

    /// Sends raw bytes and reads the answer.
    pub async fn ask(&mut self, request: impl AsRef<[u8]>) -> Response {
        self.send(request).await;
        self.read().await.expect("an answer")
    }

    /// The next answer, or `None` when the server closed without one. Fails the test where it is cut short.
    pub async fn read(&mut self) -> Option<Response> {
        let response = self.try_read().await;
        assert!(response.is_some() || self.ahead.is_empty(), "half a head: {}", self.lossy());
        if let Some(response) = &response {
            assert_eq!(response.end, End::Whole, "a body cut short: {response:?}");
        }
        response
    }

    /// The next answer as far as it came, or `None` when the server closed before the end of its head.
    pub async fn try_read(&mut self) -> Option<Response> {
        let mut response = self.read_head().await?;
        let (chunks, whole) = match response.framing() {
            Framing::Length(length) => {
                while self.ahead.len() < length && self.fill().await {}
                let whole = self.ahead.len() >= length;
                (vec![self.take(length)], whole)
            }
            Framing::Chunked => self.chunks().await,
            Framing::Close => {
                while self.fill().await {}
                (vec![self.take(usize::MAX)], true)
            }
        };
        response.body = chunks.concat().into();
        response.chunks = chunks;
        response.end = match self.broken {
            _ if whole && !matches!(self.broken, Some(io::ErrorKind::ConnectionReset)) => End::Whole,
            Some(io::ErrorKind::ConnectionReset) => End::Reset,
            _ => End::Cut,
        };
        Some(response)
    }

    /// The next head alone: of an answer to `HEAD`, or of a stream whose body is read by [`Self::read_until`].
    pub async fn read_head(&mut self) -> Option<Response> {
        let end = loop {
            if let Some(end) = memmem::find(&self.ahead, b"\r\n\r\n") {
                break end;
            }
            if !self.fill().await {
                return None;
            }
        };
        let head = self.take(end + 2);
        self.take(2);
        Some(Response::of_head(String::from_utf8(head.to_vec()).expect("heads are text")))
    }

    /// Takes the next bytes of a chunked body, at least up to `end`.
    pub async fn read_until(&mut self, end: &str) -> String {
        let mut text = String::new();
        while !text.ends_with(end) {
            let chunk = self.chunk().await.unwrap_or_else(|| panic!("cut short: {text:?}"));
            text.push_str(std::str::from_utf8(&chunk).expect("text"));
            assert!(!chunk.is_empty() || text.ends_with(end), "the answer ended with {text:?}");
        }
        text
    }

    /// Whether the server closes without another byte.
    pub async fn closes(&mut self) -> bool {
        self.ahead.is_empty() && !self.fill().await
    }

    /// Takes what comes and counts it; true once the server has closed.
    pub async fn closes_after(&mut self, read: &mut usize) -> bool {
        let more = self.fill().await;
        *read += self.ahead.len();
        self.ahead.clear();
        !more
    }

    /// Reads more; false once nothing more comes.
    pub async fn fill(&mut self) -> bool {
        if self.broken.is_none() {
            let read = self.stream.read_buf(&mut self.ahead).await;
            self.broken = ended(&read);
        }
        self.broken.is_none()
    }

    /// The chunks up to the last, and whether that came.
    async fn chunks(&mut self) -> (Vec<Bytes>, bool) {
        let mut chunks = Vec::new();
        loop {
            match self.chunk().await {
                Some(chunk) if chunk.is_empty() => return (chunks, true),
                Some(chunk) => chunks.push(chunk),
                None => {
                    // Of a chunk that is cut short, what came.
                    let rest = self.take(usize::MAX);
                    let begun = memmem::find(&rest, b"\r\n");
                    chunks.extend(begun.map(|at| rest.slice(at + 2..)).filter(|part| !part.is_empty()));
                    return (chunks, false);
                }
            }
        }
    }

    /// The next chunk, or `None` where the server closed before its end; its size stays then.
    async fn chunk(&mut self) -> Option<Bytes> {
        loop {
            if let Some(at) = memmem::find(&self.ahead, b"\r\n") {
                let size = String::from_utf8_lossy(&self.ahead[..at]).into_owned();
                let size = usize::from_str_radix(&size, 16)
                    .unwrap_or_else(|_| panic!("{size:?} is no chunk's size"));
                if self.ahead.len() >= at + 2 + size + 2 {
                    self.take(at + 2);
                    let chunk = self.take(size);
                    self.take(2);
                    return Some(chunk);
                }
            }
            if !self.fill().await {
                return None;
            }
        }
    }

    fn take(&mut self, length: usize) -> Bytes {
        self.ahead.split_to(length.min(self.ahead.len())).freeze()
    }

    fn lossy(&self) -> String {
        String::from_utf8_lossy(&self.ahead).into_owned()
    }
}

/// Why nothing more comes after this read.
fn ended(read: &io::Result<usize>) -> Option<io::ErrorKind> {
    match read {
        Ok(0) => Some(io::ErrorKind::UnexpectedEof),
        Ok(_) => None,
        Err(error) => Some(error.kind()),
    }
}
