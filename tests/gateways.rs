//! What gateways of tests begin with: simulated providers, a setup of the binary under test over them, a gateway over one
//! provider that the test has written, and such a provider behind TLS.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_harness::{Caller, Gateway, Provider, Received, Reply, Setup, binary};
use gatehouse_sandbox::{Sandbox, Settings};
use rustls::ServerConfig;
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;

/// Providers whose jobs take that time, and that tell nobody to wait.
pub(crate) fn settings(job_time: Duration) -> Settings {
    Settings { job_time, retry_after_s: 0, max_in_flight: 10_000, ..Settings::default() }
}

pub(crate) async fn sandbox(job_time: Duration) -> Sandbox {
    Sandbox::start(settings(job_time)).await.expect("a sandbox")
}

/// Providers as they are where nobody has set anything.
pub(crate) async fn usual_sandbox() -> Sandbox {
    Sandbox::start(Settings::default()).await.expect("a sandbox")
}

/// The binary under test over these providers.
pub(crate) fn setup(sandbox: &Sandbox) -> Setup {
    let context = serde_json::to_value(sandbox.context()).expect("addresses");
    Setup::new(&binary(env!("CARGO_BIN_EXE_gatehouse")), &context)
}

/// A gateway whose provider `other` is the test's own, with a model of each protocol that has its name; and a customer.
pub(crate) async fn over(provider: &Provider, accounts: &[&str], protocols: &[&str]) -> (Gateway, Caller) {
    let sandbox = usual_sandbox().await;
    let mut setup = setup(&sandbox).with_provider("other", &provider.url(), "\"bearer\"", 8, accounts);
    for protocol in protocols {
        setup = setup.with_model(protocol, "other", protocol, "other", "");
    }
    let gateway = Gateway::start(setup).await;
    let caller = gateway.open_account("main", "1000").await;
    (gateway, caller)
}

/// A provider with a certificate of its own for that name and these protocols, and the folder with `roots.pem`, which a client
/// must trust.
pub(crate) async fn tls_provider(
    name: &str,
    protocols: &[&str],
    script: impl Fn(&Received) -> Reply + Send + Sync + 'static,
) -> (Provider, TempDir) {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).expect("a certificate");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("roots.pem"), made.cert.pem()).expect("a file");
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], made.signing_key.into())
        .expect("a certificate with its key");
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let wrap = move |stream| {
        let acceptor = acceptor.clone();
        async move { acceptor.accept(stream).await.ok() }
    };
    (Provider::start_over(script, wrap).await, folder)
}
