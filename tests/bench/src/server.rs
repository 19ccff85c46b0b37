//! The connections of a provider: accepted and read on a thread of its own, so that a request wakes no other. Knows HTTP and
//! nothing of what is asked.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use bytes::{Buf as _, BytesMut};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::http1;

/// Connections that may wait until they are accepted; a crowd comes all at once.
const BACKLOG: u32 = 4096;

/// What answers.
pub(crate) trait Service: Send + Sync + 'static {
    /// Whether an answer depends on what a body says; if not, bodies are passed over.
    const READS_BODIES: bool;

    /// Writes the answer.
    fn answer(
        &self,
        request: &Received,
        stream: &mut TcpStream,
    ) -> impl Future<Output = io::Result<()>> + Send;
}

/// A request that was read whole.
#[derive(Default)]
pub(crate) struct Received {
    pub(crate) is_post: bool,
    pub(crate) path: String,
    /// Empty if bodies are passed over.
    pub(crate) body: Vec<u8>,
}

/// Starts it on a free port; it ends with the process.
pub(crate) fn start<S: Service>(service: impl FnOnce(SocketAddr) -> S) -> (SocketAddr, Arc<S>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
    let listener = {
        let _here = runtime.enter();
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
        socket.listen(BACKLOG).expect("a fresh socket")
    };
    let address = listener.local_addr().expect("an address");
    let service = Arc::new(service(address));
    let accepting = accept(listener, Arc::clone(&service));
    let thread = thread::Builder::new().name("provider".to_owned());
    thread.spawn(move || runtime.block_on(accepting)).expect("a thread");
    (address, service)
}

async fn accept<S: Service>(listener: TcpListener, service: Arc<S>) {
    while let Ok((stream, _)) = listener.accept().await {
        let service = Arc::clone(&service);
        // A gateway that ends takes its connections with it.
        tokio::spawn(async move { drop(serve(&*service, stream).await) });
    }
}

/// One connection's requests, one after the other.
async fn serve<S: Service>(service: &S, mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut buffer, mut request) = (BytesMut::new(), Received::default());
    while receive(&mut stream, &mut buffer, &mut request, S::READS_BODIES).await? {
        service.answer(&request, &mut stream).await?;
    }
    Ok(())
}

/// Reads the next request; false if there is none.
async fn receive(
    stream: &mut TcpStream,
    buffer: &mut BytesMut,
    request: &mut Received,
    reads_body: bool,
) -> io::Result<bool> {
    let (mut body, length) = loop {
        if let Some(head) = http1::request_head(buffer) {
            request.is_post = head.method == "POST";
            request.path.clear();
            request.path.push_str(head.path);
            break (head.body, head.length);
        }
        if !http1::fill(stream, buffer).await? {
            return Ok(false);
        }
    };
    buffer.advance(length);
    request.body.clear();
    loop {
        let taken = body.take(buffer, |data| {
            if reads_body {
                request.body.extend_from_slice(data);
            }
        });
        buffer.advance(taken);
        if body.is_over() {
            return Ok(true);
        }
        if !http1::fill(stream, buffer).await? {
            return Ok(false);
        }
    }
}
