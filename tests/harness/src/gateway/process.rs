//! The process: start, signals, exit, log, and the operator's commands beside it.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::caller::Caller;
use super::compiled_code::{CompiledCode, SharedCode, user_cache};
use super::setup::Setup;
use crate::environment::database;
use crate::wait::{PATIENCE, until_some};

/// Starts `$0` with its arguments and passes standard input on as an inherited socket, the way systemd does.
const PASS_SOCKET: &str = "export LISTEN_FDS=1 LISTEN_PID=$$; exec \"$0\" \"$@\" 3<&0 </dev/null";

/// A running gateway. Dropping it kills the process and removes its data.
pub struct Gateway {
    program: PathBuf,
    /// See [`Setup::compiles`].
    compiled: Option<PathBuf>,
    socket: Option<TcpListener>,
    /// The code of plugins that it was given, which later tests find.
    installed: SharedCode,
    folder: TempDir,
    child: Option<Child>,
    /// What it has printed since it started.
    printed: Arc<Mutex<String>>,
    /// The public listener.
    pub public: SocketAddr,
}

impl Gateway {
    /// Starts a gateway on fresh data and waits until it prints where it listens.
    pub async fn start(mut setup: Setup) -> Self {
        let names_none = !setup.config.lines().any(|line| line.starts_with("url = \"postgres:"));
        if let Some(url) =
            tokio::task::spawn_blocking(database).await.expect("a database").filter(|_| names_none)
        {
            setup = setup.with(&format!("[data]\nurl = \"{url}\"\n\n"));
        }
        let folder = tempfile::tempdir().expect("a folder");
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "sandbox-key\n").expect("a secret");
        let config = setup.config.replace("SECRET", &secret.display().to_string());
        std::fs::write(folder.path().join("gatehouse.toml"), config).expect("a configuration");
        let mut gateway = Self {
            program: setup.program,
            compiled: setup.compiled,
            socket: setup.socket,
            installed: SharedCode::of(&folder.path().join("data")),
            folder,
            child: None,
            printed: Arc::default(),
            public: SocketAddr::from(([127, 0, 0, 1], 0)),
        };
        let data = gateway.folder().join("data");
        if let Some(pepper) = setup.pepper {
            std::fs::create_dir_all(&data).expect("a folder");
            std::fs::write(data.join("pepper"), pepper).expect("a pepper");
            let own = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(data.join("pepper"), own).expect("a pepper of its owner");
        }
        let binary = gateway.compiled.clone();
        let link = tokio::task::spawn_blocking(move || Some(CompiledCode::link_into(&data, &binary?)));
        let code = link.await.expect("compiled code");
        gateway.restart().await;
        if let Some(code) = code {
            code.keep();
        }
        gateway
    }

    /// Starts the process and kills it after `span`, at whatever point of its start that is.
    pub async fn restart_and_kill_after(&mut self, span: Duration) {
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
            let line = line.expect("the gateway prints where it listens");
            if let Some(address) = line.split("://").nth(1).filter(|_| line.contains("listens on")) {
                let digits = |c: char| c.is_ascii_digit() || c == '.' || c == ':';
                let address = address.split(|c| !digits(c)).next().expect("an address");
                break address.parse().expect("an address with a port");
            }
        };
        self.printed = Arc::default();
        let printed = Arc::clone(&self.printed);
        // Without a reader the process would block on a full pipe.
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                *printed.lock().unwrap_or_else(PoisonError::into_inner) += &format!("{line}\n");
            }
        });
        self.child = Some(child);
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.as_ref().and_then(Child::id).expect("a running gateway")
    }

    /// Memory it has in use, KiB.
    #[must_use]
    pub fn memory_kib(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("a running process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// Its threads whose names begin so, sorted.
    #[must_use]
    pub fn threads(&self, prefix: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(format!("/proc/{}/task", self.pid()))
            .expect("a running process")
            .filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok())
            .map(|name| name.trim().to_owned())
            .filter(|name| name.starts_with(prefix))
            .collect();
        names.sort();
        names
    }

    /// Where its configuration, data (`data`) and log (`log`) are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Everything its processes have logged so far.
    #[must_use]
    pub fn log_text(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.log()).unwrap_or_default()).into_owned()
    }

    /// What it prints after `lead`, up to the next white space, once it has printed so much. Its addresses come first and are not
    /// kept.
    pub async fn printed_after(&self, lead: &str) -> String {
        until_some("it is printed", async || {
            let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
            let (_, rest) = printed.split_once(lead)?;
            Some(rest.split_once(char::is_whitespace)?.0.to_owned())
        })
        .await
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

    /// Waits until the process ends by itself; the exit code.
    pub async fn wait_for_exit(&mut self) -> Option<i32> {
        let mut child = self.child.take().expect("a running gateway");
        let end = tokio::time::timeout(PATIENCE, child.wait()).await;
        end.expect("the process ends by itself").expect("an exit").code()
    }

    /// Whether the process ends by itself within `span`.
    pub async fn exits_within(&mut self, span: Duration) -> bool {
        let child = self.child.as_mut().expect("a running gateway");
        tokio::time::timeout(span, child.wait()).await.is_ok()
    }

    /// Runs a command of the same binary on the same configuration and data; its standard output.
    pub async fn command(&self, arguments: &[&str]) -> String {
        let output = self.try_command(arguments).await;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {out}{err}");
        out.into_owned()
    }

    /// The same, also where the command fails.
    pub async fn try_command(&self, arguments: &[&str]) -> Output {
        if let ["plugin", "install" | "check" | "dev", ..] = arguments {
            self.installed.lend_components(arguments);
        }
        let output = self.build(arguments).output().await.expect("the command runs");
        if let (["restore", ..], Some(binary), true) = (arguments, &self.compiled, output.status.success()) {
            // A backup has no code: the next start would compile everything.
            CompiledCode::link_again(&self.folder.path().join("data"), binary);
        }
        output
    }

    /// What a command prints with `--json`.
    pub async fn json(&self, arguments: &[&str]) -> Value {
        let text = self.command(&[arguments, &["--json"]].concat()).await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("not JSON ({error}): {text}"))
    }

    /// Opens an account with credit and makes it an unlimited key.
    pub async fn open_account(&self, account: &str, credits: &str) -> Caller {
        self.command(&["account", "open", account]).await;
        self.command(&["account", "deposit", account, credits]).await;
        self.make_key(account, &["--unlimited"]).await
    }

    /// Makes a key with that policy.
    pub async fn make_key(&self, account: &str, policy: &[&str]) -> Caller {
        self.new_key(&[&["key", "create", "test", "--account", account], policy].concat()).await
    }

    /// Makes the successor of a key, which goes on working for `overlap`.
    pub async fn rotate_key(&self, key: &Caller, overlap: &str) -> Caller {
        self.new_key(&["key", "rotate", key.id(), "--overlap", overlap]).await
    }

    async fn new_key(&self, arguments: &[&str]) -> Caller {
        let outcome = self.json(arguments).await;
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        Caller { address: self.public, id: text(&outcome["key"]["id"]), secret: text(&outcome["secret"]) }
    }

    /// A client with a key that was made elsewhere.
    #[must_use]
    pub fn caller(&self, secret: &str) -> Caller {
        let id = secret.get(3..13).expect("a key").to_owned();
        Caller { address: self.public, id, secret: secret.to_owned() }
    }

    /// An account as `account show` has it: its amounts in micro-credits, by short names.
    pub async fn account(&self, account: &str) -> Value {
        let shown = self.json(&["account", "show", account]).await;
        let names = [("available", "available_micro"), ("reserved", "held_micro"), ("spent", "spent_micro")];
        names.iter().map(|(short, name)| ((*short).to_owned(), shown[*name].clone())).collect()
    }

    /// Lines of the audit record as `audit` has them, newest first.
    pub async fn audit(&self, arguments: &[&str]) -> Vec<Value> {
        let mut outcome = self.json(&[&["audit"], arguments].concat()).await;
        serde_json::from_value(outcome["data"].take()).expect("a list of lines")
    }

    /// The account, once nothing is held for it.
    pub async fn account_without_holds(&self, account: &str) -> Value {
        let without = async || Some(self.account(account).await).filter(|shown| shown["reserved"] == 0);
        until_some("no money is held", without).await
    }

    /// The account, once none of its tasks is running any more.
    pub async fn settled_account(&self, caller: &Caller, account: &str) -> Value {
        for status in ["submitted", "pending", "processing"] {
            let path = format!("/v1/tasks?limit=1&status={status}");
            while let Some(task) = caller.get(&path).await.json()["data"][0]["id"].as_str() {
                caller.end_of(task).await;
            }
        }
        self.account(account).await
    }

    /// Fails the test unless `gatehouse doctor` finds the ledger sound.
    pub async fn expect_sound_ledger(&self) {
        let outcome = self.json(&["doctor"]).await;
        assert_eq!(
            (&outcome["findings"], &outcome["imbalance_micro"]),
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

    /// The command that serves, with its inherited socket where there is one.
    fn serve(&self) -> Command {
        let plain = self.build(&["serve"]);
        let Some(socket) = &self.socket else { return plain };
        let mut command = Command::new("sh");
        let plain = plain.as_std();
        command.arg("-c").arg(PASS_SOCKET).arg(plain.get_program()).args(plain.get_args());
        command.current_dir(self.folder.path()).kill_on_drop(true);
        command.stdin(OwnedFd::from(socket.try_clone().expect("a second handle")));
        command
    }

    fn build(&self, arguments: &[&str]) -> Command {
        let cache = user_cache().unwrap_or_else(|| self.folder.path().join("cache"));
        let mut command = Command::new(&self.program);
        command
            .arg("--config")
            .arg(self.config_file())
            .arg("--data")
            .arg(self.folder.path().join("data"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("XDG_CACHE_HOME", cache)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }
}

impl Drop for Gateway {
    /// A failed test shows the end of the log.
    #[expect(clippy::print_stdout, reason = "the test runner shows it with the failure")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log_text();
            let lines: Vec<&str> = log.lines().collect();
            println!("the end of the gateway's log:\n{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        }
    }
}
