//! The client of a running gateway: a command on the same machine sends it a request, over TLS where the admin listener has it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::Boxed;
use gatehouse_net::{TlsError, reachable, read_chain, read_key, read_roots};
use http::header::{AUTHORIZATION, HOST, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConfig, Error};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::request::{ApiAnswer, ApiRefusal, ApiRequest, read_answer};
use crate::access::COMMAND_LINE;
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
    #[error("no response from {0}: {1}")]
    Unreachable(SocketAddr, String),
    /// What the configuration names for TLS cannot be used, or is missing.
    #[error(
        "{0}; the gateway's admin listener speaks TLS: [admin.client] or --admin-ca, --admin-certificate and --admin-key name what a command needs"
    )]
    Files(#[from] TlsError),
    /// The listener and the command do not take what the other presents: which side refused what, and the remedy.
    #[error("no TLS connection to {0}: {1}")]
    Tls(SocketAddr, String),
    /// The listener at the address belongs to another program, which its response shows.
    #[error("the listener at {0} is not this gateway's: {1}")]
    Foreign(SocketAddr, String),
    /// The gateway refused the request.
    #[error(transparent)]
    Api(#[from] ApiRefusal),
}

/// The admin API of a running gateway.
pub struct RemoteApi {
    endpoint: AdminEndpoint,
    client: AdminClient,
}

impl RemoteApi {
    /// At this address. `client` counts only where the gateway's listener speaks TLS.
    #[must_use]
    pub const fn new(endpoint: AdminEndpoint, client: AdminClient) -> Self {
        Self { endpoint, client }
    }

    /// Sends a request, each over a connection of its own.
    pub async fn send(&self, request: ApiRequest) -> Result<ApiAnswer, ClientError> {
        let (status, headers, body) = answer_to(&self.endpoint, &self.client, request.into_http()).await?;
        if status == StatusCode::UNAUTHORIZED {
            return Err(foreign(&self.endpoint, "it does not accept the token in admin.json"));
        }
        let answer = read_answer(status, &headers, &body).map_err(|why| foreign(&self.endpoint, why))?;
        answer.map_err(ClientError::from)
    }

    /// Status and text of a page of the listener that is no resource, such as `/readyz`.
    pub async fn page(&self, path: &'static str) -> Result<(StatusCode, String), ClientError> {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = http::Uri::from_static(path);
        let (status, _, body) = answer_to(&self.endpoint, &self.client, request).await?;
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }
}

type Answer = (StatusCode, HeaderMap, Bytes);

/// Sends a request with what every one carries. It is boxed: a TLS connection is larger than what is worth moving about.
fn answer_to<'a>(
    endpoint: &'a AdminEndpoint,
    client: &'a AdminClient,
    request: Request<Full<Bytes>>,
) -> Boxed<'a, Result<Answer, ClientError>> {
    Box::pin(async move {
        tokio::time::timeout(RESPONSE_TIMEOUT, exchange(endpoint, client, request))
            .await
            .map_err(|_| unreachable(endpoint, "no response in time"))?
    })
}

async fn exchange(
    endpoint: &AdminEndpoint,
    client: &AdminClient,
    request: Request<Full<Bytes>>,
) -> Result<Answer, ClientError> {
    let tls = if endpoint.tls { Some(tls_of(client)?) } else { None };
    let stream = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(endpoint.address))
        .await
        .map_err(|_| unreachable(endpoint, "no connection in time"))?
        .map_err(|error| unreachable(endpoint, error))?;
    let Some((connector, name)) = tls else {
        return send(endpoint, stream, request).await;
    };
    // Without a configured name the listener's certificate must be of the address.
    let name = name.unwrap_or_else(|| ServerName::from(reachable(endpoint.address).ip()));
    let stream = tokio::time::timeout(CONNECT_TIMEOUT, connector.connect(name, stream))
        .await
        .map_err(|_| unreachable(endpoint, "no TLS handshake in time"))?
        .map_err(|error| ClientError::Tls(endpoint.address, reason_of(&error)))?;
    send(endpoint, stream, request).await
}

async fn send(
    endpoint: &AdminEndpoint,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Answer, ClientError> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| broken(endpoint, &error))?;
    // The exchange reports what goes wrong; the task only moves bytes.
    let connection = tokio::spawn(connection);
    let (mut head, body) = request.into_parts();
    present(endpoint, &mut head).map_err(|error| unreachable(endpoint, error))?;
    let request = Request::from_parts(head, body);
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
    let (head, body) = response.into_parts();
    let body =
        Limited::new(body, MAX_RESPONSE_BYTES).collect().await.map_err(|error| foreign(endpoint, error))?;
    connection.abort();
    Ok((head.status, head.headers, body.to_bytes()))
}

/// The sender of the request, and its receiver.
fn present(endpoint: &AdminEndpoint, head: &mut Parts) -> Result<(), http::header::InvalidHeaderValue> {
    let bearer = format!("Bearer {}", endpoint.token.reveal());
    head.headers.insert(HOST, HeaderValue::from_str(&endpoint.address.to_string())?);
    head.headers.insert(AUTHORIZATION, HeaderValue::from_str(&bearer)?);
    head.headers.insert(USER_AGENT, HeaderValue::from_static(COMMAND_LINE));
    Ok(())
}

fn unreachable(endpoint: &AdminEndpoint, reason: impl std::fmt::Display) -> ClientError {
    ClientError::Unreachable(endpoint.address, reason.to_string())
}

fn foreign(endpoint: &AdminEndpoint, reason: impl std::fmt::Display) -> ClientError {
    ClientError::Foreign(endpoint.address, reason.to_string())
}

/// A connection that ended instead of an answer. With TLS 1.3 the listener refuses a certificate only after the
/// command's side of the handshake has ended.
fn broken(endpoint: &AdminEndpoint, error: &hyper::Error) -> ClientError {
    let address = endpoint.address;
    match io_cause(error) {
        Some(refused) if endpoint.tls => ClientError::Tls(address, reason_of(refused)),
        None if error.is_parse() && !endpoint.tls => {
            let reason = "its answer is no HTTP: it may expect TLS, of which admin.json says nothing";
            ClientError::Tls(address, reason.to_owned())
        }
        _ => unreachable(endpoint, error),
    }
}

fn io_cause(error: &hyper::Error) -> Option<&io::Error> {
    let mut causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.find_map(|cause| cause.downcast_ref::<io::Error>())
}

/// The command's side of a handshake, and the name that the listener's certificate must have, where one is configured. Without a
/// certificate of the command the listener will say that it needs one.
///
/// # Errors
/// The file that is missing or cannot be used, or an unknown name, by its key of the configuration.
fn tls_of(files: &AdminClient) -> Result<(TlsConnector, Option<ServerName<'static>>), TlsError> {
    let missing = |name: &str, why: &str| TlsError::new(format!("admin.client.{name}"), why);
    let ca = files.ca.as_ref().ok_or_else(|| missing("ca", "expected a PEM file with the gateway's CA"))?;
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::new("admin.client", error))?
        .with_root_certificates(read_roots("admin.client.ca", ca)?);
    let mut config = match (&files.certificate, &files.key) {
        (Some(certificate), Some(key)) => {
            let own = read_chain("admin.client.certificate", certificate)?;
            let key = read_key("admin.client.key", key)?;
            builder.with_client_auth_cert(own, key).map_err(|error| {
                let problem = format!("certificate and key do not go together: {error}");
                TlsError::new("admin.client.key", problem)
            })?
        }
        (None, None) => builder.with_no_client_auth(),
        (Some(_), None) => return Err(missing("key", "expected the key of admin.client.certificate")),
        (None, Some(_)) => {
            return Err(missing("certificate", "expected the certificate of admin.client.key"));
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let name = files.server_name.clone().map(|name| {
        let problem = format!("expected a host name or an address, got {name:?}");
        ServerName::try_from(name).map_err(|_| TlsError::new("admin.client.server_name", problem))
    });
    Ok((TlsConnector::from(Arc::new(config)), name.transpose()?))
}

/// What a broken handshake or connection means, with the key of the configuration that it concerns.
pub(crate) fn reason_of(error: &io::Error) -> String {
    let Some(cause) = error.get_ref().and_then(|cause| cause.downcast_ref::<Error>()) else {
        return error.to_string();
    };
    let meaning = match cause {
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "the gateway asks for a certificate: set admin.client.certificate and admin.client.key"
        }
        Error::AlertReceived(
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::DecryptError,
        ) => {
            "the gateway does not take admin.client.certificate: expected one of a CA in its admin.tls.client_ca"
        }
        Error::AlertReceived(AlertDescription::CertificateExpired) => "admin.client.certificate has expired",
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "the gateway's certificate is of no CA in admin.client.ca"
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "the gateway's certificate is of another name: set admin.client.server_name",
        Error::InvalidMessage(_) => "it does not speak TLS, though admin.json says so",
        _ => return cause.to_string(),
    };
    format!("{meaning} ({cause})")
}
