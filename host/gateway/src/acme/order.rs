//! What an authority gives: an order of a certificate, and what is kept of it.
//!
//! One order at an authority (RFC 8555): its names are validated by handshakes of the listeners (TLS-ALPN-01), then it issues the
//! certificate.
//!
//! What is kept of an authority: the account, and the certificate with its key. One file that its owner alone can read, written
//! whole, so a chain never lies beside another one's key.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;
use std::{fs, io};

use gatehouse_edge::{Certificates, TlsError};
use gatehouse_files::{if_exists, write_atomic};
use gatehouse_upstream::ServiceClient;
use http_body_util::Limited;
use instant_acme::{
    Account, AuthorizationStatus, BodyWrapper, BytesResponse, ChallengeType, HttpClient, Identifier,
    NewOrder, Order, OrderStatus, Problem, RetryPolicy,
};
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use serde::{Deserialize, Serialize};

/// For one exchange with the authority, up to the head of its answer.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of one answer: a directory, an order or a chain.
const MAX_ANSWER: usize = 1 << 20;
/// Until an authority has validated all names, and until it has issued.
const STAGE_TIMEOUT: Duration = Duration::from_secs(120);

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub(super) enum OrderError {
    #[error("the authority: {0}")]
    Authority(#[from] instant_acme::Error),
    #[error("the authority did not validate {name}: {}", words(.problem.as_ref()))]
    NotValidated { name: String, problem: Option<Problem> },
    #[error("the authority validates {name} in other ways than TLS-ALPN-01, expected that")]
    OtherWays { name: String },
    #[error("the authority did not answer in time")]
    Late,
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("a key or a certificate could not be made: {0}")]
    Made(#[from] rcgen::Error),
}

impl OrderError {
    /// Whether the authority has no such account any more.
    pub(super) fn forgets_account(&self) -> bool {
        let Self::Authority(instant_acme::Error::Api(problem)) = self else { return false };
        problem.r#type.as_deref().is_some_and(|kind| kind.ends_with(":accountDoesNotExist"))
    }
}

/// What a problem says.
fn words(problem: Option<&Problem>) -> String {
    problem.map_or_else(|| "it does not say why".to_owned(), ToString::to_string)
}

/// The connection to the authority.
pub(super) struct Connection(pub(super) ServiceClient);

impl HttpClient for Connection {
    fn request(
        &self,
        request: http::Request<BodyWrapper<bytes::Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, instant_acme::Error>> + Send>> {
        let client = self.0.clone();
        Box::pin(async move {
            let answered = client.send(request, EXCHANGE_TIMEOUT).await;
            let response = answered.map_err(|error| instant_acme::Error::Other(Box::new(error)))?;
            Ok(response.map(|body| Limited::new(body, MAX_ANSWER)).into())
        })
    }
}

/// A certificate for `domains`, which `certificates` shows the authority to be the gateway's. The chain and its key, both PEM.
///
/// # Errors
/// [`OrderError`]; nothing is in use that was not before.
pub(super) async fn order(
    account: &Account,
    domains: &[String],
    certificates: &Certificates,
) -> Result<(String, String), OrderError> {
    let names: Vec<Identifier> = domains.iter().cloned().map(Identifier::Dns).collect();
    let mut order = account.new_order(&NewOrder::new(&names)).await?;
    prove(&mut order, certificates).await?;
    let patience = RetryPolicy::new().timeout(STAGE_TIMEOUT);
    if order.poll_ready(&patience).await? != OrderStatus::Ready {
        return Err(reason(&mut order).await?);
    }
    let key = order.finalize().await?;
    Ok((order.poll_certificate(&patience).await?, key))
}

/// Has the listeners answer for every name that is not validated yet.
async fn prove(order: &mut Order, certificates: &Certificates) -> Result<(), OrderError> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        if authorization.status == AuthorizationStatus::Valid {
            continue;
        }
        let name = authorization.identifier().to_string();
        let Some(mut challenge) = authorization.challenge(ChallengeType::TlsAlpn01) else {
            return Err(OrderError::OtherWays { name });
        };
        let mut certificate = CertificateParams::new([name.clone()])?;
        let digest = challenge.key_authorization().digest();
        certificate.custom_extensions = vec![CustomExtension::new_acme_identifier(digest.as_ref())];
        let key = KeyPair::generate()?;
        let made = certificate.self_signed(&key)?;
        certificates.show(&name, made.der().clone(), key.into())?;
        challenge.set_ready().await?;
    }
    Ok(())
}

/// Why an order came to nothing, as the authority says of the name that it did not validate.
async fn reason(order: &mut Order) -> Result<OrderError, OrderError> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        let state = authorization.refresh().await?;
        if state.status != AuthorizationStatus::Valid {
            let problem = state.challenges.iter().find_map(|challenge| challenge.error.clone());
            return Ok(OrderError::NotValidated { name: state.identifier().to_string(), problem });
        }
    }
    Ok(instant_acme::Error::Str("the reason of an order that is not valid").into())
}

/// A certificate that was issued, and for what.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Issued {
    /// The directory of the authority.
    pub(super) directory: String,
    /// The names that were asked for, in their order.
    pub(super) domains: Vec<String>,
    /// PEM, leaf first.
    pub(super) chain: String,
    /// PEM.
    pub(super) key: String,
}

/// The whole file.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The directory of the account, and its credentials as the library writes them.
    pub(super) account: Option<(String, serde_json::Value)>,
    pub(super) certificate: Option<Issued>,
}

impl Kept {
    /// Reads the file; without one nothing is kept. What cannot be read is of no use, and is made anew.
    pub(super) fn read(file: &Path) -> Self {
        let read = if_exists(fs::read(file)).and_then(|bytes| match bytes {
            Some(bytes) => Ok(serde_json::from_slice(&bytes)?),
            None => Ok(Self::default()),
        });
        read.unwrap_or_else(|error| {
            tracing::warn!(file = %file.display(), %error, "account and certificate cannot be read; others are ordered");
            Self::default()
        })
    }

    /// Writes the file.
    pub(super) async fn write(&self, file: PathBuf) -> io::Result<()> {
        let bytes = serde_json::to_vec(self)?;
        tokio::task::spawn_blocking(move || write_atomic(&file, &bytes)).await?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a file cut short, or one of a later version, ends every start.
    #[tokio::test]
    async fn what_is_kept_is_read_again_and_rubbish_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("acme.json");
        assert!(Kept::read(&file).certificate.is_none());
        let issued = Issued {
            directory: "https://ca.example/dir".to_owned(),
            domains: vec!["a.example".to_owned()],
            chain: "chain".to_owned(),
            key: "key".to_owned(),
        };
        let kept = Kept { account: None, certificate: Some(issued) };
        kept.write(file.clone()).await.unwrap();
        assert_eq!(Kept::read(&file).certificate.unwrap().domains, ["a.example"]);
        let certificates = Certificates::from_authority().unwrap();
        let issued = kept.certificate.unwrap();
        let error = certificates.issue(&issued.chain, &issued.key).unwrap_err();
        assert!(error.to_string().contains("server.acme"), "{error}");
        fs::write(&file, "{\"account\":").unwrap();
        assert!(Kept::read(&file).certificate.is_none());
    }
}
