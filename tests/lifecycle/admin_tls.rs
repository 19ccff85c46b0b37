//! The admin listener with mutual TLS, from outside: curl and the command line, with, without and with a wrong
//! certificate; files that are replaced while the gateway serves.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gatehouse_harness::{Gateway, run, send, until};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;
use tokio::process::Command;

use crate::lifecycle::{sandbox, setup};

/// A CA and the folder of its files.
struct Ca {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

impl Ca {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a CA");
        let ca = Self { issuer, folder: tempfile::tempdir().expect("a folder") };
        ca.put("ca.pem", &ca.issuer.pem());
        ca.issue("127.0.0.1", "server");
        ca.issue("command", "command");
        ca
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Replaces one file whole.
    fn put(&self, name: &str, text: &str) {
        fs::write(self.file("aside"), text).expect("a file");
        fs::rename(self.file("aside"), self.file(name)).expect("replaced");
    }

    /// A new certificate for `name`, in `FILE.pem` and `FILE.key`.
    fn issue(&self, name: &str, file: &str) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        self.put(&format!("{file}.pem"), &certificate.pem());
        self.put(&format!("{file}.key"), &key.serialize_pem());
    }

    /// The options of a command with a certificate of this CA, which knows the gateway by `server`'s.
    fn options(&self, server: &Self) -> Vec<String> {
        let text = |path: PathBuf| path.display().to_string();
        ["--admin-ca", &text(server.file("ca.pem")), "--admin-certificate", &text(self.file("command.pem"))]
            .into_iter()
            .chain(["--admin-key", &text(self.file("command.key"))])
            .map(str::to_owned)
            .collect()
    }

    fn table(&self, clients: &Path) -> String {
        format!(
            "[admin.tls]\ncertificate = {:?}\nkey = {:?}\nclient_ca = {clients:?}\n",
            self.file("server.pem"),
            self.file("server.key")
        )
    }
}

/// What curl got of a page: its text, or the code it ended with.
async fn page(gateway: &Gateway, path: &str, options: &[&str]) -> Result<String, i32> {
    let url = format!("https://{}{path}", gateway.admin());
    let asked = Command::new("curl").args(["-s", "--max-time", "60"]).args(options).arg(url).output().await;
    let output = asked.expect("curl runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(text) } else { Err(output.status.code().unwrap_or_default()) }
}

/// The same with the CA's own certificate of the command.
async fn page_as(gateway: &Gateway, server: &Ca, client: &Ca, path: &str) -> Result<String, i32> {
    let [ca, certificate, key] =
        [server.file("ca.pem"), client.file("command.pem"), client.file("command.key")]
            .map(|path| path.display().to_string());
    page(gateway, path, &["--cacert", &ca, "--cert", &certificate, "--key", &key]).await
}

/// A command's output, or what it says of its failure.
async fn command(gateway: &Gateway, options: &[String], arguments: &[&str]) -> Result<String, String> {
    let all: Vec<&str> = options.iter().map(String::as_str).chain(arguments.iter().copied()).collect();
    let output = gateway.try_command(&all).await;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
fn only_clients_with_a_certificate_of_the_ca_reach_the_admin_listener() {
    run(async {
        let (ca, other) = (Ca::new(), Ca::new());
        let sandbox = sandbox(Duration::ZERO).await;
        let gateway = Gateway::start(setup(&sandbox).with(&ca.table(&ca.file("ca.pem")))).await;

        let metrics = page_as(&gateway, &ca, &ca, "/metrics").await.expect("a page");
        assert!(metrics.contains("gatehouse_"), "{metrics}");
        let refused = page_as(&gateway, &ca, &ca, "/admin/v1/customers").await.expect("an answer");
        assert!(refused.contains("bearer token"), "the token is needed still: {refused}");
        // curl ends so: a failed handshake, a refused certificate, a broken connection.
        let ended = |code: Result<String, i32>| matches!(code, Err(35 | 52 | 55 | 56));
        let root = ca.file("ca.pem").display().to_string();
        for path in ["/livez", "/metrics", "/login"] {
            let without = page(&gateway, path, &["--cacert", &root]).await;
            assert!(ended(without.clone()), "{path} without a certificate: {without:?}");
            let wrong = page_as(&gateway, &ca, &other, path).await;
            assert!(ended(wrong.clone()), "{path} with another CA's: {wrong:?}");
        }
        let mut cleartext = gatehouse_harness::Connection::open(gateway.admin()).await;
        cleartext.send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await;
        let mut read = 0;
        while !cleartext.closes_after(&mut read).await {}
        assert!(!String::from_utf8_lossy(cleartext.ahead()).contains("HTTP"));

        let own = ca.options(&ca);
        command(&gateway, &own, &["account", "open", "acme"]).await.expect("done");
        let link = command(&gateway, &own, &["console", "link"]).await.expect("a link");
        assert!(link.contains("https://") && !link.contains("http://"), "{link}");
        for (options, expected) in [
            (vec![], "admin.client.ca"),
            (own[..2].to_vec(), "the gateway asks for a certificate"),
            (own[..4].to_vec(), "admin.client.key: expected"),
            (other.options(&ca), "does not take admin.client.certificate"),
            (ca.options(&other), "of no CA in admin.client.ca"),
            (
                [&own[..], &["--admin-server-name".to_owned(), "gate.test".to_owned()]].concat(),
                "of another name",
            ),
        ] {
            let said = command(&gateway, &options, &["account", "show", "acme"]).await.expect_err("refused");
            assert!(said.contains(expected), "{expected}: {said}");
        }
        // The public listener is as it was.
        assert_eq!(send(gateway.public, "GET", "/livez", &[], "").await.status, 200);
    });
}

#[test]
fn commands_find_their_certificate_in_the_configuration() {
    run(async {
        let ca = Ca::new();
        let sandbox = sandbox(Duration::ZERO).await;
        let client = format!(
            "[admin.client]\nca = {:?}\ncertificate = {:?}\nkey = {:?}\n",
            ca.file("ca.pem"),
            ca.file("command.pem"),
            ca.file("command.key")
        );
        let tables = ca.table(&ca.file("ca.pem")) + &client;
        let gateway = Gateway::start(setup(&sandbox).with(&tables)).await;
        gateway.open_account("acme", "5").await;
        gateway.expect_sound_ledger().await;
    });
}

#[test]
fn the_files_are_read_again_and_unusable_ones_change_nothing() {
    run(async {
        let (ca, other) = (Ca::new(), Ca::new());
        let sandbox = sandbox(Duration::ZERO).await;
        ca.put("clients.pem", &ca.issuer.pem());
        let gateway = Gateway::start(setup(&sandbox).with(&ca.table(&ca.file("clients.pem")))).await;
        let times = |text: &str, count: usize| gateway.log_text().matches(text).count() >= count;

        ca.put("clients.pem", "nothing here");
        command(&gateway, &ca.options(&ca), &["reload"]).await.expect("the configuration is as it was");
        until("the unusable file is logged", async || times("admin.tls.client_ca: ", 1)).await;
        page_as(&gateway, &ca, &ca, "/livez").await.expect("the roots in use stay");

        ca.put("clients.pem", &other.issuer.pem());
        gateway.signal("-HUP").await;
        until("the files are read", async || times("certificate reloaded", 1)).await;
        page_as(&gateway, &ca, &other, "/livez").await.expect("the new CA counts");
        page_as(&gateway, &ca, &ca, "/livez").await.expect_err("the old one does no more");

        // The gateway's own certificate, from another CA.
        other.issue("127.0.0.1", "server");
        ca.put("server.pem", &fs::read_to_string(other.file("server.pem")).expect("a file"));
        ca.put("server.key", &fs::read_to_string(other.file("server.key")).expect("a file"));
        command(&gateway, &other.options(&ca), &["reload"]).await.expect("done");
        until("the files are read", async || times("certificate reloaded", 2)).await;
        page_as(&gateway, &other, &other, "/livez").await.expect("the new certificate");
    });
}

#[test]
fn check_config_names_the_key_of_an_unusable_file() {
    run(async {
        let ca = Ca::new();
        let sandbox = sandbox(Duration::ZERO).await;
        let gateway = Gateway::start(setup(&sandbox)).await;
        let text = gateway.config();
        for (broken, expected) in [
            (ca.table(Path::new("/no/such/file")), "admin.tls.client_ca"),
            (ca.table(&ca.file("ca.pem")).replace("server.key", "command.key"), "do not go together"),
            (format!("[admin.tls]\nkey = {:?}\n", ca.file("server.key")), "add `certificate"),
        ] {
            gateway.set_config(&format!("{text}\n{broken}"));
            let (code, said) = gateway.refused(&["check-config"]).await;
            assert_eq!(code, Some(2), "{said}");
            assert!(said.contains(expected) && said.contains("gatehouse.toml:"), "{expected}: {said}");
        }
    });
}
