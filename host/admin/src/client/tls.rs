//! What a command presents to an admin listener with TLS, and by which certificate it knows the gateway.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use gatehouse_net::{TlsError, reachable, read_chain, read_key, read_roots};
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConfig, Error};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::config::AdminClient;

/// The command's side of the connection.
pub struct ClientTls {
    config: Arc<ClientConfig>,
    server_name: Option<ServerName<'static>>,
}

impl ClientTls {
    /// Reads the files. Without a certificate the listener will say that it needs one.
    ///
    /// # Errors
    /// The file that is missing or cannot be used, or a name that is none, by its key of the configuration.
    pub fn from_files(files: &AdminClient) -> Result<Self, TlsError> {
        let missing = |name: &str, why: &str| TlsError::new(format!("admin.client.{name}"), why);
        let ca =
            files.ca.as_ref().ok_or_else(|| missing("ca", "expected a PEM file with the gateway's CA"))?;
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
        Ok(Self { config: Arc::new(config), server_name: name.transpose()? })
    }

    /// Shakes hands with the listener at `address`. Without a configured name its certificate must be of the address.
    pub(crate) async fn connect(
        &self,
        address: SocketAddr,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let name = self.server_name.clone().unwrap_or_else(|| ServerName::from(reachable(address).ip()));
        TlsConnector::from(Arc::clone(&self.config)).connect(name, stream).await
    }
}

impl std::fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientTls").field("server_name", &self.server_name).finish_non_exhaustive()
    }
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
