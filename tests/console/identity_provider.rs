//! Login at an identity provider: a public implementation that demands PKCE, in a process of its own, and a browser of a few
//! lines that keeps cookies and follows redirects.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use gatehouse_harness::{Gateway, Response, run, send, serve_connections};
use serde_json::{Value, json};
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;

use crate::clients::kit::{Set, Tool};
use crate::console::browser::Tab;
use crate::console::scene::link;
use crate::gateways::{sandbox, setup};

const SERVER: Set = Set { tool: Tool::Node, name: "identity-provider" };
const SECRET: &str = "a-secret-of-the-client-that-nobody-may-see";

/// The provider's process. Dropping it ends it.
struct IdentityProvider {
    process: Child,
    lines: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    issuer: String,
}

impl IdentityProvider {
    fn start(callback: &str) -> Self {
        let (node, folder) = SERVER.ready();
        let mut process = Command::new(node)
            .arg(folder.join("identity_provider.mjs"))
            .args(["gatehouse", SECRET, callback])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the provider starts");
        let input = process.stdin.take().expect("piped");
        let mut output = BufReader::new(process.stdout.take().expect("piped"));
        let made: Value = serde_json::from_str(&read(&mut output)).expect("JSON");
        let issuer = made["issuer"].as_str().expect("an issuer").to_owned();
        Self { process, lines: Mutex::new((input, output)), issuer }
    }

    fn tell(&self, line: &str) {
        let mut lines = self.lines.lock().expect("one at a time");
        writeln!(lines.0, "{line}").expect("it reads");
        assert_eq!(read(&mut lines.1).trim(), "done");
    }

    fn person(&self, person: &Value) {
        self.tell(&format!("person {person}"));
    }
}

impl Drop for IdentityProvider {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn read(output: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    line
}

/// A gateway whose admin listener is known by an address from before its start, as behind a proxy.
struct Scene {
    gateway: Gateway,
    provider: IdentityProvider,
    own: String,
}

async fn start() -> Scene {
    let admin = Arc::new(OnceLock::<SocketAddr>::new());
    let started = Arc::clone(&admin);
    let relay = serve_connections(move |mut stream: TcpStream| {
        let admin = *started.get().expect("a gateway that was started");
        async move {
            let mut there = TcpStream::connect(admin).await.expect("the listener");
            let _ = copy_bidirectional(&mut stream, &mut there).await;
        }
    })
    .await;
    let own = format!("http://{relay}");
    let callback = format!("{own}/login/oidc/callback");
    let provider = tokio::task::block_in_place(|| IdentityProvider::start(&callback));
    let secret = tempfile::NamedTempFile::new().expect("a file").keep().expect("a file that stays").1;
    std::fs::write(&secret, SECRET).expect("written");
    let setup = setup(&sandbox(Duration::ZERO).await).with(&table(
        &provider.issuer,
        &own,
        &secret.display().to_string(),
    ));
    let gateway = Gateway::start(setup).await;
    admin.set(gateway.admin()).expect("set once");
    Scene { gateway, provider, own }
}

fn table(issuer: &str, own: &str, secret: &str) -> String {
    format!(
        "[admin.oidc]\nissuer = \"{issuer}\"\nclient_id = \"gatehouse\"\nclient_secret = {{ file = \"{secret}\" }}\n\
         public_url = \"{own}\"\nroles = {{ platform = \"operator\", support = \"viewer\" }}\n\n"
    )
}

/// Keeps the cookies of each address, and follows redirects.
#[derive(Default)]
struct Visitor(BTreeMap<(String, String), String>);

impl Visitor {
    async fn one(&mut self, method: &str, url: &str, body: &str) -> Response {
        let (authority, path) =
            url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a URL");
        let kept = self.0.iter().filter(|((host, _), _)| host == authority);
        let cookies = kept.map(|((_, name), value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ");
        let origin = format!("http://{authority}");
        let mut headers = vec![("host", authority), ("cookie", &cookies), ("accept", "text/html")];
        if method == "POST" {
            headers
                .extend([("origin", origin.as_str()), ("content-type", "application/x-www-form-urlencoded")]);
        }
        let address = authority.parse().expect("an address");
        let answer = send(address, method, &format!("/{path}"), &headers, body.to_owned()).await;
        for line in answer.headers.get_all("set-cookie") {
            let line = line.to_str().expect("text");
            let (name, value) = line.split(';').next().and_then(|pair| pair.split_once('=')).expect("a pair");
            self.0.insert((authority.to_owned(), name.to_owned()), value.to_owned());
        }
        answer
    }

    /// The last address, and its answer.
    async fn follow(&mut self, url: &str) -> (String, Response) {
        let mut url = url.to_owned();
        for _ in 0..10 {
            let answer = self.one("GET", &url, "").await;
            let to = answer.header("location").to_owned();
            if !matches!(answer.status, 302 | 303) {
                return (url, answer);
            }
            let origin = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
            url = if to.starts_with('/') { format!("{origin}{to}") } else { to };
        }
        panic!("redirected too often: {url}");
    }
}

/// Without the groups anybody whom the provider knows would be an operator, or nobody.
#[test]
fn people_log_in_by_their_groups_and_are_named_in_the_audit_record() {
    run(async {
        let Scene { gateway, provider, own } = start().await;
        let mut ada = Visitor::default();
        let page = ada.one("GET", &format!("{own}/login"), "").await.text();
        assert!(page.contains("href=\"/login/oidc\"") && page.contains("Log in at 127.0.0.1"), "{page}");
        provider.person(
            &json!({"sub": "1", "groups": ["platform"], "email": "ada@example.org", "email_verified": true}),
        );
        let away = ada.one("GET", &format!("{own}/login/oidc"), "").await;
        let question = away.header("location").to_owned();
        for part in ["code_challenge_method=S256", "state=", "nonce=", "scope=openid+profile+email"] {
            assert!(question.contains(part), "{question}");
        }
        assert!(away.header("set-cookie").contains("HttpOnly; SameSite=Lax; Path=/login/oidc; Max-Age=600"));
        let (arrived, answer) = ada.follow(&question).await;
        assert_eq!(
            (arrived.as_str(), answer.status),
            (format!("{own}/login/arrived").as_str(), 200),
            "{}",
            answer.text()
        );
        assert_eq!(answer.header("refresh"), "0; url=/");
        assert!(ada.one("GET", &format!("{own}/"), "").await.text().contains("ada@example.org"));
        assert_eq!(ada.one("POST", &format!("{own}/system/reload"), "").await.status, 200);
        let audit = Value::from(gateway.audit(&["--requests"]).await).to_string();
        assert!(audit.contains("session 1 of ada@example.org"), "{audit}");
        // A viewer, whose groups the provider tells only when it is asked.
        let mut ben = Visitor::default();
        provider.person(
            &json!({"sub": "2", "groups": ["support", "others"], "preferred_username": "ben", "asked": true}),
        );
        provider.tell("rotate");
        let (arrived, answer) = ben.follow(&format!("{own}/login/oidc")).await;
        assert!(arrived.ends_with("/login/arrived"), "{arrived} {}", answer.text());
        assert!(ben.one("GET", &format!("{own}/"), "").await.text().contains("ben"));
        assert_eq!(ben.one("POST", &format!("{own}/system/reload"), "").await.status, 403);
        // An address that the provider did not verify is no name, and another group has no role here.
        provider.person(
            &json!({"sub": "3", "groups": ["others"], "email": "ada@example.org", "email_verified": false}),
        );
        let (_, refused) = Visitor::default().follow(&format!("{own}/login/oidc")).await;
        assert_eq!(refused.status, 403);
        assert!(
            refused.text().contains("3 is in no group that [admin.oidc.roles] gives a role"),
            "{}",
            refused.text()
        );
        assert_eq!(ada.one("POST", &format!("{own}/session/end"), "").await.header("location"), "/login");
        assert_eq!(ada.one("GET", &format!("{own}/"), "").await.header("location"), "/login");
        let log = gateway.log_text();
        assert!(log.contains("ada@example.org") && !log.contains(SECRET), "{log}");
    });
}

/// Each row is a way to be somebody else.
#[test]
fn what_does_not_come_from_the_provider_for_this_login_does_not_count() {
    run(async {
        let Scene { gateway: _gateway, provider, own } = start().await;
        provider.person(&json!({"sub": "ada", "groups": ["platform"]}));
        let now = SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
        for (wrong, why) in [
            (json!({"alg": "none"}), Some("No signature found")),
            (json!({"alg": "HS256"}), Some("algorithm `HS256`")),
            (json!({"foreign_key": true}), Some("Crypto error")),
            (json!({"claims": {"aud": "another"}}), Some("Invalid audiences")),
            (json!({"claims": {"aud": ["gatehouse", "another"]}}), Some("Invalid audiences")),
            (json!({"claims": {"iss": "http://127.0.0.1:1"}}), Some("Invalid issuer")),
            (json!({"claims": {"nonce": "of another login"}}), Some("Invalid nonce")),
            (json!({"claims": {"exp": now - 120}}), Some("Expired")),
            (json!({"claims": {"iat": now + 600}}), Some("issued in the future")),
            // Clocks differ by some seconds.
            (json!({"claims": {"exp": now - 20, "iat": now + 20}}), None),
            (json!({}), None),
        ] {
            provider.tell(&format!("token {wrong}"));
            let (at, answer) = Visitor::default().follow(&format!("{own}/login/oidc")).await;
            match why {
                Some(why) => {
                    assert_eq!(answer.status, 401, "{wrong}: {}", answer.text());
                    assert!(answer.text().contains(why), "{wrong}: {}", answer.text());
                }
                None => assert!(at.ends_with("/login/arrived"), "{wrong}: {}", answer.text()),
            }
        }
        // After ten failures a minute the provider is asked no more for that address, whatever the answer is.
        for _ in 0..20 {
            Visitor::default().one("GET", &format!("{own}/login/oidc/callback?state=x&code=x"), "").await;
        }
        let (at, answer) = Visitor::default().follow(&format!("{own}/login/oidc")).await;
        assert_eq!(answer.status, 429, "{at}: {}", answer.text());
    });
}

/// Without the binding to the browser that asked, a link of a stranger logs a person in as that stranger.
#[test]
fn an_answer_counts_in_the_browser_that_asked() {
    run(async {
        let Scene { gateway: _gateway, provider, own } = start().await;
        provider.person(&json!({"sub": "ada", "groups": ["platform"]}));
        // A link that a stranger made of his own login.
        let mut stranger = Visitor::default();
        let question =
            stranger.one("GET", &format!("{own}/login/oidc"), "").await.header("location").to_owned();
        let mut stolen = question;
        for _ in 0..10 {
            if stolen.starts_with(&own) {
                break;
            }
            let to = stranger.one("GET", &stolen, "").await.header("location").to_owned();
            stolen = if to.starts_with('/') { format!("{}{to}", provider.issuer) } else { to };
        }
        let mut victim = Visitor::default();
        victim.one("GET", &format!("{own}/login/oidc"), "").await;
        let answer = victim.one("GET", &stolen, "").await;
        assert_eq!(answer.status, 401);
        assert!(answer.text().contains("begun in another browser"), "{}", answer.text());
        assert_eq!(Visitor::default().one("GET", &stolen, "").await.status, 401);
        assert!(stranger.follow(&stolen).await.0.ends_with("/login/arrived"));
        // New keys, of which the gateway was not told.
        provider.tell("rotate");
        let (at, answer) = Visitor::default().follow(&format!("{own}/login/oidc")).await;
        assert!(at.ends_with("/login/arrived"), "{}", answer.text());
    });
}

/// Without it operators are locked out of the gateway while their identity provider is down.
#[test]
fn a_provider_that_is_away_is_said_and_links_still_work() {
    run(async {
        let Scene { gateway, provider, own } = start().await;
        drop(provider);
        let (_, answer) = Visitor::default().follow(&format!("{own}/login/oidc")).await;
        assert_eq!(answer.status, 503);
        let text = answer.text();
        assert!(
            text.contains("the identity provider cannot be asked") && text.contains("Login link"),
            "{text}"
        );
        let link = link(&gateway, "operator").await;
        let mut visitor = Visitor::default();
        let token = link.split_once('#').expect("a token").1;
        assert_eq!(
            visitor.one("POST", &format!("{own}/session"), &format!("token={token}")).await.status,
            303
        );
        assert_eq!(visitor.one("GET", &format!("{own}/"), "").await.status, 200);
    });
}

/// A browser keeps a strict cookie back while another site leads to us; without the page between, a login ends at the login.
#[test]
fn a_browser_arrives_in_the_console() {
    run(async {
        let Scene { gateway: _gateway, provider, own } = start().await;
        provider.person(&json!({"sub": "ada", "groups": ["platform"], "preferred_username": "ada"}));
        let tab = Tab::open(&own.replace("127.0.0.1", "localhost")).await;
        tab.goto_raw(&format!("{own}/login")).await;
        tab.press("Log in at 127.0.0.1").await;
        tab.see("Log out").await;
        tab.expect_no_problems().await;
        tab.close().await;
    });
}

/// A start with a login that cannot work would be noticed by the first person who needs it.
#[test]
fn what_cannot_work_is_refused_before_the_start() {
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        for (table, why) in [
            (
                table("http://id.example", "https://gate.example", "/nowhere"),
                "expected https, or http on this machine",
            ),
            (
                table("https://id.example", "https://gate.example", "/nowhere"),
                "admin.oidc.client_secret: file /nowhere",
            ),
            (
                table("https://id.example", "https://gate.example", "/nowhere").replace("operator", "admin"),
                "viewer",
            ),
        ] {
            let file = folder.path().join("gatehouse.toml");
            std::fs::write(&file, table).expect("written");
            let output = Command::new(env!("CARGO_BIN_EXE_gatehouse"))
                .arg("--config")
                .arg(&file)
                .arg("check-config")
                .output()
                .expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success() && said.contains(why), "{why}: {said}");
        }
    });
}
