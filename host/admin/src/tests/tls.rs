//! The admin listener with mutual TLS, and the command's side of it: who gets in, and what is said to the others.

use std::fs;
use std::path::{Path, PathBuf};

use gatehouse_harness::Connection;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;

use super::support::{HANDSHAKE, Listener, start, start_with};
use super::token;
use crate::{AdminClient, AdminEndpoint, AdminTls, ApiAnswer, ApiRequest, ClientError, Config, RemoteApi};

/// A CA and a folder for its files.
struct Ca {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

impl Ca {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let ca = Self { issuer, folder: tempfile::tempdir().unwrap() };
        fs::write(ca.file(), ca.issuer.pem()).unwrap();
        ca
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A certificate and its key, of this name.
    fn issue(&self, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let file = |end: &str| self.folder.path().join(format!("{name}.{end}"));
        fs::write(file("pem"), certificate.pem()).unwrap();
        fs::write(file("key"), key.serialize_pem()).unwrap();
        (file("pem"), file("key"))
    }

    fn client(&self, name: &str) -> AdminClient {
        let (certificate, key) = self.issue(name);
        AdminClient {
            ca: Some(self.file()),
            certificate: Some(certificate),
            key: Some(key),
            server_name: None,
        }
    }
}

fn table(server: &Ca, clients: &Path, name: &str) -> AdminTls {
    let (certificate, key) = server.issue(name);
    AdminTls { certificate, key, client_ca: clients.to_owned() }
}

async fn listener(tls: AdminTls) -> Listener {
    start_with(Config { tls: Some(tls), ..Config::default() }, "gatehouse_up 1\n").await
}

async fn ask(endpoint: &AdminEndpoint, client: &AdminClient) -> Result<ApiAnswer, ClientError> {
    RemoteApi::new(endpoint.clone(), client.clone()).send(ApiRequest::get(&["doctor"])).await
}

async fn refusal(endpoint: &AdminEndpoint, client: &AdminClient) -> String {
    let error = ask(endpoint, client).await.unwrap_err();
    assert!(matches!(error, ClientError::Tls { .. } | ClientError::Files(_)), "{error:?}");
    error.to_string()
}

#[tokio::test]
async fn only_a_certificate_of_the_ca_gets_in_and_the_token_is_needed_still() {
    let (ca, other) = (Ca::new(), Ca::new());
    let listener = listener(table(&ca, &ca.file(), "127.0.0.1")).await;
    let endpoint = &listener.endpoint;
    assert!(endpoint.tls);
    let client = ca.client("command");
    ask(endpoint, &client).await.unwrap();

    let wrong = AdminEndpoint { token: token(1), ..endpoint.clone() };
    let unknown = ask(&wrong, &client).await;
    assert!(matches!(unknown, Err(ClientError::Foreign { .. })), "{unknown:?}");

    let missing = AdminClient { certificate: Some("no/such/file".into()), ..client.clone() };
    for (refused, expected) in [
        (
            AdminClient { server_name: Some(" ".to_owned()), ..client.clone() },
            "admin.client.server_name: expected",
        ),
        (AdminClient::default(), "admin.client.ca: expected"),
        (missing, "admin.client.certificate: no/such/file: expected a PEM file"),
        (AdminClient { key: Some(other.issue("x").1), ..client.clone() }, "do not go together"),
    ] {
        let text = refusal(endpoint, &refused).await;
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[tokio::test]
async fn a_name_is_known_where_the_address_is_not_in_the_certificate() {
    let ca = Ca::new();
    let listener = listener(table(&ca, &ca.file(), "gate.internal")).await;
    let client = ca.client("command");
    assert!(refusal(&listener.endpoint, &client).await.contains("set admin.client.server_name"));
    let named = AdminClient { server_name: Some("gate.internal".to_owned()), ..client };
    ask(&listener.endpoint, &named).await.unwrap();
}

#[tokio::test]
async fn cleartext_and_tls_do_not_meet() {
    let ca = Ca::new();
    let (plain, secured) = (start().await, listener(table(&ca, &ca.file(), "127.0.0.1")).await);
    // The endpoint file says the contrary of what the listener speaks.
    let endpoint = AdminEndpoint { tls: true, ..plain.endpoint.clone() };
    let text = refusal(&endpoint, &ca.client("command")).await;
    assert!(text.contains("does not speak TLS"), "{text}");
    let endpoint = AdminEndpoint { tls: false, ..secured.endpoint.clone() };
    let text = refusal(&endpoint, &AdminClient::default()).await;
    assert!(text.contains("may expect TLS"), "{text}");
}

#[tokio::test]
async fn a_handshake_has_its_time_and_its_turn() {
    let ca = Ca::new();
    let listener = listener(table(&ca, &ca.file(), "127.0.0.1")).await;
    let mut held = Vec::new();
    for number in 1..=5 {
        // Four have a turn, the fifth waits for one; its time runs too.
        held.push(Connection::open(listener.endpoint.address).await);
        listener.clock.armed_times(HANDSHAKE, number).await;
    }
    let (endpoint, client) = (listener.endpoint.clone(), ca.client("command"));
    let asked = tokio::spawn(async move { ask(&endpoint, &client).await });
    listener.clock.armed_times(HANDSHAKE, 6).await;
    // One that gives up lets another have its turn.
    held.truncate(1);
    asked.await.unwrap().unwrap();
    listener.clock.advance(HANDSHAKE);
    assert!(held[0].closes().await);
}

#[tokio::test]
async fn links_and_cookies_are_for_https() {
    let ca = Ca::new();
    let listener = listener(table(&ca, &ca.file(), "127.0.0.1")).await;
    let link = listener.server.sessions().new_link(crate::Role::Viewer);
    assert!(link.urls.iter().all(|url| url.0.starts_with("https://")), "a link is not for https");
    let token = link.urls[0].0.split_once('#').unwrap().1.to_owned();
    let cookie = listener.server.sessions().open(&token, [127, 0, 0, 1].into(), false).unwrap();
    assert!(cookie.to_str().unwrap().ends_with("; Secure"), "{cookie:?}");
}

#[tokio::test]
async fn files_that_cannot_be_used_keep_the_listener_from_starting() {
    let ca = Ca::new();
    let tls = AdminTls { key: ca.issue("other").1, ..table(&ca, &ca.file(), "127.0.0.1") };
    let error = crate::Certificates::from_files(tls.files()).unwrap_err();
    assert!(error.to_string().starts_with("admin.tls: certificate and key do not go together"), "{error}");
    let tls = AdminTls { client_ca: "no/such/file".into(), ..table(&ca, &ca.file(), "127.0.0.1") };
    let error = crate::Certificates::from_files(tls.files()).unwrap_err();
    assert!(error.to_string().starts_with("admin.tls.client_ca: no/such/file: expected"), "{error}");
}
