//! A provider whose answers somebody else gives: a loopback listener that hands over every request, and small real files for
//! the results. `gatehouse plugin mock` plays scripts of plugin authors with it.
//!
//! Knows no script and no plugin.

use std::future::pending;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_sandbox_files::{Film, Picture, Sound, SoundFormat, format_named};
use http::{HeaderMap, Method, Request, Response};
use hyper::body::Incoming;
use tokio::task::JoinSet;

use crate::common::server::{Body, HandlerResult, Listener, closed, read, reply};

/// The largest body that is read: what a gateway may send with a picture or two in it.
const MAX_BODY: usize = 64 << 20;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// The method.
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// All headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// What is done with it.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A reply of one piece.
    Reply(Response<Bytes>),
    /// The connection is closed without a reply.
    Broken,
    /// Nothing comes until the client leaves.
    Silence,
}

/// A scripted provider, running. Dropping it closes its listener and every connection.
pub struct Scripted {
    /// `http://127.0.0.1:<port>`.
    pub origin: String,
    _listener: JoinSet<()>,
}

impl Scripted {
    /// Listens on a port of 127.0.0.1, where 0 lets the system choose; `script` gets the origin and makes what answers.
    pub async fn start<F, A>(port: u16, script: impl FnOnce(&str) -> F) -> io::Result<Self>
    where
        F: Fn(Received) -> A + Send + Sync + 'static,
        A: Future<Output = Answer> + Send + 'static,
    {
        let listener = Listener::bind(port).await?;
        let origin = listener.origin.clone();
        let script = Arc::new(script(&origin));
        let mut serving = JoinSet::new();
        serving.spawn(listener.serve(&script, handle));
        Ok(Self { origin, _listener: serving })
    }
}

async fn handle<A>(script: Arc<impl Fn(Received) -> A>, request: Request<Incoming>) -> HandlerResult
where
    A: Future<Output = Answer>,
{
    let (head, body) = request.into_parts();
    let Some(body) = read(body, MAX_BODY).await? else {
        return Ok(reply(413, "text/plain", "the scripted provider reads bodies of at most 64 MiB"));
    };
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
    let received = Received { method: head.method, target, headers: head.headers, body };
    match script(received).await {
        Answer::Reply(response) => Ok(whole(response)),
        Answer::Broken => Err(closed()),
        Answer::Silence => pending().await,
    }
}

fn whole(response: Response<Bytes>) -> Response<Body> {
    let (head, bytes) = response.into_parts();
    let mut whole = reply(head.status.as_u16(), "application/octet-stream", bytes);
    *whole.headers_mut() = head.headers;
    whole
}

/// A small real file of that content type; `None` where none is made of it.
#[must_use]
pub fn sample(mime: &str) -> Option<Bytes> {
    let sound = |format| Sound { format, milliseconds: 1000 }.encode();
    let film = || Film { width: 64, height: 64, milliseconds: 2000, sound: true, colour: [30, 90, 160] };
    let file = match mime {
        "video/mp4" => film().mp4(),
        "video/quicktime" => film().mov(),
        "audio/wav" | "audio/x-wav" => sound(SoundFormat::Wav),
        "audio/mpeg" => sound(SoundFormat::Mp3),
        "audio/mp4" => sound(SoundFormat::M4a),
        picture => {
            let format = format_named(picture.strip_prefix("image/")?)?;
            let digest = [7; 32];
            Picture { width: 64, height: 64, format, digest }.encode().ok()?
        }
    };
    Some(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gateway probes what it copies: a made-up file would end every mocked task.
    #[test]
    fn a_sample_is_a_file_of_its_type() {
        for (mime, begin) in [
            ("image/png", &b"\x89PNG"[..]),
            ("image/jpeg", b"\xff\xd8\xff"),
            ("image/webp", b"RIFF"),
            ("audio/wav", b"RIFF"),
        ] {
            assert!(sample(mime).unwrap().starts_with(begin), "{mime}");
        }
        for mime in ["video/mp4", "video/quicktime", "audio/mp4"] {
            assert_eq!(&sample(mime).unwrap()[4..8], b"ftyp", "{mime}");
        }
        assert!(sample("audio/mpeg").is_some());
        assert_eq!(sample("model/gltf-binary"), None);
    }
}
