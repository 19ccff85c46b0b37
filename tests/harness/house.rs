//! A gateway as an operator runs it: a process with a configuration file and a data folder.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::client::{Answer, send, try_send};

/// How to start a house.
pub struct Setup {
    binary: PathBuf,
    config: String,
    socket: Option<TcpListener>,
}

/// Starts `$0` with its arguments and with what stands at standard input as the socket it is handed over, the
/// way systemd does.
const HAND_OVER: &str = "export LISTEN_FDS=1 LISTEN_PID=$$; exec \"$0\" \"$@\" 3<&0 </dev/null";

impl Setup {
    /// The binary, and the addresses of a simulated context-image provider (its `submit`, `poll`,
    /// `delivery` and `samples` origins).
    #[must_use]
    pub fn new(binary: &str, provider: &Value) -> Self {
        let at = |name: &str| provider[name].as_str().expect("an origin").to_owned();
        let samples = at("samples").trim_start_matches("http://").to_owned();
        let config = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\n\n[admin]\nlisten = \"127.0.0.1:0\"\n\n\
             [fetch]\nallow_private = [\"{samples}\"]\n\n\
             [providers.bfl]\nbase_url = \"{submit}\"\norigins = [\"{poll}\"]\nmedia_origins = [\"{delivery}\"]\n\
             auth = {{ header = \"x-key\" }}\nconcurrency = 1000\n\n\
             [providers.bfl.accounts.main]\nsecret = {{ file = \"SECRET\" }}\n\n\
             [plugins.settings.context-image.pace]\nshortest_ms = 10\nlongest_ms = 500\n",
            submit = at("submit"),
            poll = at("poll"),
            delivery = at("delivery"),
        );
        Self { binary: binary.into(), config, socket: None }
    }

    /// A gateway that is handed its public socket, as by systemd: the socket stays when the process ends, and
    /// clients wait in its queue for the next one.
    #[must_use]
    pub fn handed_over(mut self) -> Self {
        self.socket = Some(TcpListener::bind("127.0.0.1:0").expect("a free port"));
        self
    }

    /// Something that starts the binary, instead of the binary itself.
    #[must_use]
    pub fn run_by(mut self, program: &str) -> Self {
        self.binary = program.into();
        self
    }

    /// More configuration; a table that is there already takes the new keys, which win.
    #[must_use]
    pub fn with(mut self, more: &str) -> Self {
        for table in more.split_inclusive("\n\n").map(str::trim).filter(|table| !table.is_empty()) {
            let (head, keys) = table.split_once('\n').expect("a table head and keys");
            let names: Vec<&str> =
                keys.lines().filter_map(|line| Some(line.split_once('=')?.0.trim())).collect();
            let mut kept = Vec::new();
            let mut inside = false;
            for line in self.config.lines() {
                if line.starts_with('[') {
                    inside = line == head;
                }
                let replaced = line.split_once('=').is_some_and(|(name, _)| names.contains(&name.trim()));
                if !(inside && replaced) {
                    kept.push(line);
                }
                if line == head {
                    kept.extend(keys.lines());
                }
            }
            if !kept.contains(&head) {
                kept.extend(["", head]);
                kept.extend(keys.lines());
            }
            self.config = kept.join("\n") + "\n";
        }
        self
    }
}

/// A running gateway. Dropping it kills the process and removes its data.
pub struct House {
    binary: PathBuf,
    socket: Option<TcpListener>,
    folder: TempDir,
    child: Option<Child>,
    /// The public listener.
    pub public: SocketAddr,
}

impl House {
    /// Starts a gateway on fresh data and waits until it says where it listens.
    pub async fn start(setup: Setup) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "sandbox-key\n").expect("a secret");
        let config = setup.config.replace("SECRET", &secret.display().to_string());
        std::fs::write(folder.path().join("gatehouse.toml"), config).expect("a configuration");
        let mut house = Self {
            binary: setup.binary,
            socket: setup.socket,
            folder,
            child: None,
            public: SocketAddr::from(([127, 0, 0, 1], 0)),
        };
        house.restart().await;
        house
    }

    /// Starts the process and kills it before `span` is over, whatever it has come to by then.
    pub async fn restart_cut_short(&mut self, span: Duration) {
        let log = self.open_log();
        let mut child = self.serve().stdout(Stdio::null()).stderr(log).spawn().expect("the gateway starts");
        if let Ok(ended) = tokio::time::timeout(span, child.wait()).await {
            panic!("the gateway ended by itself: {ended:?}");
        }
        child.kill().await.expect("killed");
    }

    /// Starts the process (again) on the same data.
    pub async fn restart(&mut self) {
        let log = self.open_log();
        let mut child = self.serve().stdout(Stdio::piped()).stderr(log).spawn().expect("the gateway starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        self.public = loop {
            let line = lines.next_line().await.expect("readable output");
            let line = line.expect("the gateway says where it listens");
            if let Some(address) = line.split("://").nth(1).filter(|_| line.contains("listens on")) {
                let digits = |c: char| c.is_ascii_digit() || c == '.' || c == ':';
                let address = address.split(|c| !digits(c)).next().expect("an address");
                break address.parse().expect("an address with a port");
            }
        };
        // Somebody must read on, or the process would block on a full pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        self.child = Some(child);
    }

    /// The process, as the system numbers it.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.as_ref().and_then(Child::id).expect("a running gateway")
    }

    /// Where its configuration, data (`data`) and log (`log`) are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Everything it has logged so far.
    #[must_use]
    pub fn log_text(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.log()).expect("a log file")).into_owned()
    }

    /// The operators' listener, where the metrics are.
    #[must_use]
    pub fn admin(&self) -> SocketAddr {
        let file = self.folder.path().join("data/admin.json");
        let text = std::fs::read_to_string(file).expect("a running gateway's door");
        let door: Value = serde_json::from_str(&text).expect("a door in JSON");
        door["address"].as_str().and_then(|address| address.parse().ok()).expect("an address")
    }

    /// SIGKILL, and the process is gone when this returns.
    pub async fn kill(&mut self) {
        let mut child = self.child.take().expect("a running gateway");
        child.kill().await.expect("killed");
    }

    /// SIGTERM; the exit code.
    pub async fn terminate(&mut self) -> Option<i32> {
        self.signal("-TERM").await;
        let mut child = self.child.take().expect("a running gateway");
        child.wait().await.expect("an exit").code()
    }

    /// Sends a signal, named as `kill` wants it.
    pub async fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.pid().to_string()]).status().await;
        assert!(sent.expect("kill runs").success());
    }

    /// What the gateway has said so far, all its processes together.
    #[must_use]
    pub fn said(&self) -> String {
        std::fs::read_to_string(self.log()).unwrap_or_default()
    }

    /// Waits for a process that ends by itself; the exit code.
    pub async fn ended(&mut self) -> Option<i32> {
        let mut child = self.child.take().expect("a running gateway");
        let end = tokio::time::timeout(Duration::from_secs(60), child.wait()).await;
        end.expect("the process ends by itself").expect("an exit").code()
    }

    /// Whether the process ends by itself within `span`.
    pub async fn ends_within(&mut self, span: Duration) -> bool {
        let child = self.child.as_mut().expect("a running gateway");
        tokio::time::timeout(span, child.wait()).await.is_ok()
    }

    /// Runs a command of the same binary on the same configuration and data; its standard output.
    pub async fn gatehouse(&self, arguments: &[&str]) -> String {
        let output = self.try_gatehouse(arguments).await;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {out}{err}");
        out.into_owned()
    }

    /// The same, whatever comes of it.
    pub async fn try_gatehouse(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().await.expect("the command runs")
    }

    /// The same with `--json`.
    async fn outcome(&self, arguments: &[&str]) -> Value {
        let text = self.gatehouse(&[arguments, &["--json"]].concat()).await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("not JSON ({error}): {text}"))
    }

    /// Opens an account with credit and makes it an unlimited key.
    pub async fn open_account(&self, account: &str, credits: &str) -> Caller {
        self.gatehouse(&["account", "open", account]).await;
        self.gatehouse(&["account", "deposit", account, credits]).await;
        self.make_key(account, &["--unlimited"]).await
    }

    /// Makes a key with that policy.
    pub async fn make_key(&self, account: &str, policy: &[&str]) -> Caller {
        let outcome =
            self.outcome(&[&["key", "create", "test", "--account", account], policy].concat()).await;
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        Caller { address: self.public, id: text(&outcome["key"]["id"]), secret: text(&outcome["secret"]) }
    }

    /// An account as `account show` has it, amounts in micro-credits.
    pub async fn account(&self, account: &str) -> Value {
        self.outcome(&["account", "show", account]).await
    }

    /// Lines of the audit record as `audit` has them, newest first.
    pub async fn audit(&self, arguments: &[&str]) -> Vec<Value> {
        let mut outcome = self.outcome(&[&["audit"], arguments].concat()).await;
        serde_json::from_value(outcome["notes"].take()).expect("a list of lines")
    }

    /// The account once none of its tasks is under way any more.
    pub async fn settled_account(&self, caller: &Caller, account: &str) -> Value {
        for status in ["submitted", "pending", "processing"] {
            loop {
                let list =
                    caller.send("GET", &format!("/v1/tasks?limit=1&status={status}"), &[], "").await.json();
                let Some(task) = list["data"][0]["id"].as_str() else { break };
                caller.send("GET", &format!("/v1/tasks/{task}"), &[("prefer", "wait=30")], "").await;
            }
        }
        self.account(account).await
    }

    /// Fails the test unless the doctor finds the books sound.
    pub async fn expect_clean_books(&self) {
        let outcome = self.outcome(&["doctor"]).await;
        assert_eq!(
            (&outcome["findings"], &outcome["imbalance"]),
            (&Value::Array(vec![]), &Value::from(0)),
            "{outcome}"
        );
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn open_log(&self) -> std::fs::File {
        std::fs::OpenOptions::new().create(true).append(true).open(self.log()).expect("a log file")
    }

    /// The command that serves, with the socket it is handed over where there is one.
    fn serve(&self) -> Command {
        let plain = self.command(&["serve"]);
        let Some(socket) = &self.socket else { return plain };
        let mut command = Command::new("sh");
        let words = plain.as_std();
        command.arg("-c").arg(HAND_OVER).arg(words.get_program()).args(words.get_args());
        command.current_dir(self.folder.path()).kill_on_drop(true);
        command.stdin(OwnedFd::from(socket.try_clone().expect("a second handle")));
        command
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .arg("--config")
            .arg(self.folder.path().join("gatehouse.toml"))
            .arg("--data")
            .arg(self.folder.path().join("data"))
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }
}

impl Drop for House {
    /// What the gateway said last belongs to a failed test.
    #[expect(clippy::print_stdout, reason = "the test runner shows it with the failure")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.said();
            let lines: Vec<&str> = log.lines().collect();
            println!("the gateway's last words:\n{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        }
    }
}

/// Who asks: an API key and where it is used.
#[derive(Clone)]
pub struct Caller {
    address: SocketAddr,
    id: String,
    secret: String,
}

impl Caller {
    /// The same key at a gateway that listens elsewhere now.
    #[must_use]
    pub fn at(&self, address: SocketAddr) -> Self {
        Self { address, ..self.clone() }
    }

    /// The key's public part.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The `Authorization` header.
    #[must_use]
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.secret)
    }

    /// Sends a request with the key.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let bearer = self.bearer();
        send(self.address, method, path, &[headers, &[("authorization", &bearer)]].concat(), body).await
    }

    /// Posts JSON with the key.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("content-type", "application/json")], body.to_string()).await
    }

    /// The same where the gateway may be gone.
    ///
    /// # Errors
    /// Whatever the connection says.
    pub async fn try_post(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
        let bearer = self.bearer();
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        try_send(self.address, "POST", path, &headers, body.to_string().into()).await
    }
}
