//! Files behind https with a certificate of their own, as a client's references are.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// A server on loopback.
pub(crate) struct HttpsFiles {
    /// `127.0.0.1:<port>`.
    pub(crate) authority: String,
    folder: TempDir,
    /// Aborted with the server.
    _accepts: JoinSet<()>,
}

impl HttpsFiles {
    /// Serves each file at its path, with status 200, and 404 at every other path.
    pub(crate) async fn start(files: Vec<(&'static str, Bytes)>) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a certificate");
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("root.pem"), made.cert.pem()).expect("a file");
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("a certificate with its key");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let authority = listener.local_addr().expect("an address").to_string();
        let files = Arc::new(files);
        let mut accepts = JoinSet::new();
        accepts.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(acceptor.clone(), stream, Arc::clone(&files)));
            }
        });
        Self { authority, folder, _accepts: accepts }
    }

    /// The certificate, which a client must trust.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("root.pem")
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.authority)
    }
}

/// One connection; one that fails is the client's to notice.
async fn serve(acceptor: TlsAcceptor, stream: TcpStream, files: Arc<Vec<(&'static str, Bytes)>>) {
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let service = service_fn(move |request: Request<Incoming>| {
        let found = files.iter().find(|(path, _)| *path == request.uri().path());
        let body = Full::new(found.map(|(_, file)| file.clone()).unwrap_or_default());
        let status = if found.is_some() { 200 } else { 404 };
        let response = Response::builder().status(status).body(body).expect("a response");
        async move { Ok::<_, Infallible>(response) }
    });
    drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
}
