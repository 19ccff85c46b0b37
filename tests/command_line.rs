//! The binary from the command line: start, banner, commands with and without a running gateway, restarts, signals,
//! exit codes.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::fs::DirBuilder;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use gatehouse_harness::{CompiledCode, Response, run as run_async, send};
use tempfile::TempDir;

fn gatehouse(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gatehouse"));
    command.current_dir(folder).args(words).stdin(Stdio::null());
    command
}

fn run(folder: &Path, words: &[&str]) -> Output {
    gatehouse(folder, words).output().unwrap()
}

/// Standard output of a command that must succeed.
fn done(folder: &Path, words: &[&str]) -> String {
    let output = run(folder, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error of a command that must end with `code`.
fn refused(folder: &Path, words: &[&str], code: i32) -> String {
    let output = run(folder, words);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{words:?}: {error}");
    error
}

/// A running gateway with simulated providers.
struct Running {
    child: Child,
    banner: String,
}

impl Running {
    fn start(folder: &Path) -> Self {
        let code = CompiledCode::link_into(
            &folder.join("gatehouse-data"),
            Path::new(env!("CARGO_BIN_EXE_gatehouse")),
        );
        let running = Self::start_as_it_is(folder);
        code.keep();
        running
    }

    /// Without compiled plugins in a new data folder, as a newcomer starts it.
    fn start_as_it_is(folder: &Path) -> Self {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("log")).unwrap();
        let mut command = gatehouse(folder, &["serve", "--listen", "127.0.0.1:0"]);
        command.env("GATEHOUSE__LOG__LEVEL", "debug");
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let (mut lines, mut banner) = (BufReader::new(child.stdout.take().unwrap()), String::new());
        while !banner.contains("ready in") {
            let read = lines.read_line(&mut banner).unwrap();
            assert!(read > 0, "the gateway ended: {:?} after {banner:?}", child.wait());
        }
        Self { child, banner }
    }

    fn word_after(&self, lead: &str) -> &str {
        let rest = self.banner.split_once(lead).unwrap_or_else(|| panic!("{lead:?} in {}", self.banner)).1;
        rest.split_whitespace().next().unwrap()
    }

    fn key(&self) -> &str {
        self.word_after("KEY=")
    }

    fn bare_key(&self) -> &str {
        self.word_after("OPENAI_API_KEY=")
    }

    /// Sends a request to the listener that the banner names after `lead`.
    fn send(&self, lead: &str, method: &str, path: &str, key: Option<&str>, body: &str) -> Response {
        let bearer = format!("Bearer {}", key.unwrap_or_default());
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        let headers = if key.is_some() { &headers[..] } else { &[] };
        run_async(send(self.word_after(lead).parse().unwrap(), method, path, headers, body.to_owned()))
    }

    fn operator(&self, path: &str) -> Response {
        self.send("health on http://", "GET", path, None, "")
    }

    fn status(&self, path: &str, key: &str) -> u16 {
        self.send("listens on http://", "GET", path, Some(key), "").status
    }

    /// A chat completion with `key`, read as JSON.
    fn chat(&self, key: &str) -> serde_json::Value {
        let body = r#"{"model":"sim-chat","messages":[{"role":"user","content":"Say hello"}]}"#;
        let response = self.send("listens on http://", "POST", "/v1/chat/completions", Some(key), body);
        assert_eq!(response.status, 200, "{}", response.text());
        response.json()
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    fn stop(mut self) -> Option<i32> {
        self.signal("-TERM");
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A failed test must not leave a gateway running; to kill an ended one does nothing.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn sandbox_mode_keeps_its_keys_across_restarts() {
    let folder = folder();
    let gateway = Running::start(folder.path());
    let (first, bare) = (gateway.key().to_owned(), gateway.bare_key().to_owned());
    assert_ne!(first, bare);
    let address = gateway.word_after("listens on ").to_owned();
    assert_eq!(gateway.word_after("ANTHROPIC_BASE_URL="), address);
    assert_eq!(gateway.word_after("ANTHROPIC_API_KEY="), first);
    assert_eq!(gateway.word_after("OPENAI_BASE_URL="), format!("{address}/v1"));
    assert_eq!(gateway.status("/v1/models", &first), 200);
    assert_eq!(gateway.status("/v1/models", "sk-wrong"), 401);
    assert!(gateway.operator("/readyz").status == 200);
    let metrics = gateway.operator("/metrics").text();
    assert!(metrics.contains("gatehouse_http_requests_total"), "{metrics}");
    assert!(!metrics.contains(&first[3..13]), "a key's id in the metrics");
    assert_eq!(gateway.stop(), Some(0));
    assert!(!folder.path().join("gatehouse-data/admin.json").exists());

    let again = Running::start(folder.path());
    assert_eq!((again.key(), again.bare_key()), (first.as_str(), bare.as_str()));
    assert!(again.banner.contains("The keys are the same at every start"), "{}", again.banner);
    // A reload keeps the simulated providers, and takes a price over.
    std::fs::write(
        folder.path().join("gatehouse.toml"),
        "[sandbox]\nenabled = true\n[prices]\nkite = \"1\"\n",
    )
    .unwrap();
    let reloaded = done(folder.path(), &["reload"]);
    assert!(reloaded.starts_with("reloaded\n  changed: prices.kite\n"), "{reloaded}");
    assert!(
        reloaded.contains("warning") && reloaded.contains("no price key of the name `kite`"),
        "{reloaded}"
    );
    assert_eq!(again.chat(&first)["data"]["object"], "chat.completion");
    assert_eq!(again.chat(&bare)["object"], "chat.completion");
    assert_eq!(again.stop(), Some(0));
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("INFO") && !log.contains(&first) && !log.contains(&bare), "a key in the log");

    done(folder.path(), &["key", "revoke", &bare]);
    let replaced = Running::start(folder.path());
    assert_eq!(replaced.key(), first);
    assert_ne!(replaced.bare_key(), bare);
    assert!(replaced.banner.contains("New keys: "), "{}", replaced.banner);
    assert_eq!(replaced.status("/v1/models", replaced.bare_key()), 200);
    assert_eq!(replaced.stop(), Some(0));
    assert!(done(folder.path(), &["doctor"]).contains("imbalance 0\nnothing is wrong"));
}

#[test]
fn commands_work_with_and_without_a_running_gateway() {
    let folder = folder();
    let path = folder.path();
    let gateway = Running::start(path);
    done(path, &["account", "open", "alice"]);
    assert!(done(path, &["account", "deposit", "alice", "12.5", "--memo", "first"]).contains("12.5"));
    let made =
        done(path, &["key", "create", "laptop", "--account", "alice", "--quota", "3", "--expires", "30d"]);
    let key = made.lines().find(|line| line.starts_with("sk-")).unwrap().to_owned();
    assert_eq!(gateway.status("/v1/models", &key), 200);
    assert!(done(path, &["plugin", "list"]).contains("context-image"));
    assert!(done(path, &["doctor"]).contains("imbalance 0"));
    // The whole key names it as well as its id does, and a cached key is refused at once.
    done(path, &["key", "revoke", &key]);
    assert_eq!(gateway.status("/v1/models", &key), 401);
    assert!(refused(path, &["account", "withdraw", "alice", "99"], 1).contains("12.5"));
    assert_eq!(gateway.stop(), Some(0));

    assert!(done(path, &["account", "show", "alice"]).contains("12.5"));
    assert!(!done(path, &["key", "list", "--account", "alice"]).contains("laptop"));
    assert!(done(path, &["key", "list", "--account", "alice", "--all"]).contains("laptop"));
    let json: serde_json::Value =
        serde_json::from_str(&done(path, &["account", "show", "alice", "--json"])).unwrap();
    assert_eq!(json["available_micro"], 12_500_000);

    // A statement proves itself to a command that has no store.
    let (statement, elsewhere) = (folder.path().join("alice.jsonl"), self::folder());
    let lines = done(path, &["account", "export", "alice"]);
    std::fs::write(&statement, &lines).unwrap();
    let file = statement.to_str().unwrap();
    let told = done(elsewhere.path(), &["verify", file]);
    assert!(told.starts_with("customer alice: 1 entries from ") && told.contains("\nhead "), "{told}");
    std::fs::write(&statement, lines.replace("first", "last")).unwrap();
    assert!(refused(elsewhere.path(), &["verify", file], 1).contains("line 2: entry 0: its chain"));
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0, "it makes nothing");
    refused(path, &["account", "export", "nobody"], 1);
}

#[test]
fn the_gateway_starts_again_after_a_crash() {
    let folder = folder();
    let mut gateway = Running::start(folder.path());
    gateway.child.kill().unwrap();
    gateway.child.wait().unwrap();
    assert!(folder.path().join("gatehouse-data/admin.json").exists());
    assert!(done(folder.path(), &["doctor"]).contains("imbalance 0"));
    assert_eq!(Running::start(folder.path()).stop(), Some(0));
}

#[test]
fn the_data_folder_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    let gateway = Running::start_as_it_is(folder.path());
    let data = folder.path().join("gatehouse-data");
    for (part, expected) in [
        (".", 0o700),
        ("pepper", 0o600),
        ("admin.json", 0o600),
        ("admin-viewer.json", 0o600),
        ("plugins", 0o700),
        ("plugins/embedded.json", 0o600),
        ("sandbox-keys.json", 0o600),
    ] {
        let mode = std::fs::metadata(data.join(part)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, expected, "{part}");
    }
    assert_eq!(gateway.stop(), Some(0));
}

#[test]
fn commands_without_a_store_fail_and_create_none() {
    let folder = folder();
    for words in
        [&["doctor"][..], &["audit"], &["key", "list"], &["account", "show", "a"], &["plugin", "list"]]
    {
        assert!(refused(folder.path(), words, 1).contains("no store yet"), "{words:?}");
    }
    assert!(!folder.path().join("gatehouse-data").exists());
    done(folder.path(), &["account", "open", "alice"]);
    assert!(
        refused(folder.path(), &["key", "create", "n", "--account", "bob", "--unlimited"], 1).contains("bob")
    );
}

#[test]
fn a_component_is_checked_without_a_gateway() {
    let folder = folder();
    std::fs::write(folder.path().join("no.wasm"), b"not a component").unwrap();
    assert!(refused(folder.path(), &["plugin", "check", "no.wasm"], 1).contains("admit"));
    let refused_check = run(folder.path(), &["plugin", "check", "no.wasm"]);
    let (table, error) = (refused_check.stdout, String::from_utf8(refused_check.stderr).unwrap());
    let table = String::from_utf8(table).unwrap();
    assert!(table.contains("REFUSED"), "{table}");
    let reason = error.trim().rsplit(": ").next().unwrap();
    assert_eq!(format!("{table}{error}").matches(reason).count(), 1, "the reason twice: {table}{error}");
    assert!(refused(folder.path(), &["plugin", "check", "missing.wasm"], 2).contains("missing.wasm"));
}

#[test]
fn the_configuration_is_checked_and_shown() {
    let folder = folder();
    let write = |text: &str| std::fs::write(folder.path().join("gatehouse.toml"), text).unwrap();
    write("[server]\nlisten = \"127.0.0.1:4000\"\n");
    let shown = done(folder.path(), &["check-config"]);
    assert!(shown.contains("127.0.0.1:4000") && shown.contains("link_hours = 24"), "{shown}");
    assert!(shown.contains("[providers.bfl]"), "defaults of a family: {shown}");
    write("[server]\nlisen = \"127.0.0.1:4000\"\n");
    for words in [&["check-config"][..], &["serve"], &["doctor"]] {
        let error = refused(folder.path(), words, 2);
        assert!(error.contains("gatehouse.toml:2:1") && error.contains("did you mean `listen`?"), "{error}");
    }
    write("[server]\n[server.tls]\ncertificate = \"no/chain.pem\"\nkey = \"no/key.pem\"\n");
    for words in [&["check-config"][..], &["serve", "--listen", "127.0.0.1:0"]] {
        let error = refused(folder.path(), words, 2);
        assert!(error.contains("gatehouse.toml:3:1: server.tls.certificate: no/chain.pem"), "{error}");
    }
    write("[providers.bfl.accounts.main]\nsecret = { env = \"GATEHOUSE_TEST_SECRET\" }\n");
    let error = refused(folder.path(), &["check-config", "gatehouse.toml"], 2);
    assert!(
        error.contains("gatehouse.toml:2:1") && error.contains("GATEHOUSE_TEST_SECRET is not set"),
        "{error}"
    );
    let set =
        gatehouse(folder.path(), &["check-config"]).env("GATEHOUSE_TEST_SECRET", "hunter2").output().unwrap();
    let shown = String::from_utf8(set.stdout).unwrap();
    assert!(set.status.success() && shown.contains("(secret) from env"), "{shown}");
    assert!(!shown.contains("hunter2"), "{shown}");
    // Too short to be found in what the provider says.
    let warned = String::from_utf8(set.stderr).unwrap();
    let (key, remedy) = ("providers.bfl.accounts.main.secret", "use a longer one");
    assert!(warned.contains("warning: gatehouse.toml:2:1") && warned.contains(key), "{warned}");
    assert!(warned.contains(remedy) && !warned.contains("hunter2"), "{warned}");
    let strong = gatehouse(folder.path(), &["check-config"])
        .env("GATEHOUSE_TEST_SECRET", "bfl-4f9aX2c7Q1")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(strong.stderr).unwrap(), "");
}

#[test]
fn too_many_streams_are_refused_with_a_number_that_fits() {
    let folder = folder();
    for streams in ["100000", "4000000000"] {
        let config = format!("[plugins]\nstreams = {streams}\n");
        std::fs::write(folder.path().join("gatehouse.toml"), config).unwrap();
        let error = refused(folder.path(), &["serve", "--listen", "127.0.0.1:0"], 2);
        assert!(error.contains("gatehouse.toml:2:1") && error.contains("plugins.streams"), "{error}");
        assert!(error.contains(streams) && error.contains("address space"), "{error}");
        let fitting = error.split("set it to ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        assert!((1000..100_000).contains(&fitting.parse::<u32>().unwrap()), "{error}");
    }
}

#[test]
fn a_missing_secret_is_reported_before_anything_is_opened() {
    let folder = folder();
    let config = "[providers.bfl.accounts.main]\nsecret = { env = \"GATEHOUSE_TEST_SECRET\" }\n";
    std::fs::write(folder.path().join("gatehouse.toml"), config).unwrap();
    let words = &["serve", "--listen", "127.0.0.1:0"];
    assert!(refused(folder.path(), words, 2).contains("GATEHOUSE_TEST_SECRET is not set"));
    assert!(!folder.path().join("gatehouse-data").exists(), "the data folder was created first");
    // A plugin folder that cannot be opened would end the start, if it came first.
    DirBuilder::new().mode(0o700).create(folder.path().join("gatehouse-data")).unwrap();
    std::fs::write(folder.path().join("gatehouse-data/plugins"), b"no folder").unwrap();
    let error = refused(folder.path(), words, 2);
    assert!(error.contains("gatehouse.toml:2:1") && error.contains("GATEHOUSE_TEST_SECRET"), "{error}");
    let set = gatehouse(folder.path(), words).env("GATEHOUSE_TEST_SECRET", "hunter2").output().unwrap();
    assert!(String::from_utf8(set.stderr).unwrap().contains("plugins: cannot be used"));
}

/// What a newcomer pastes, pasted into one shell, and the samples that the text names.
#[test]
fn the_lines_that_the_first_start_prints_run_as_printed() {
    let folder = folder();
    let gateway = Running::start(folder.path());
    let (_, text) = gateway.banner.split_once("Paste these lines").unwrap();
    let mut lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    assert!(lines.iter().filter(|line| line.contains("curl ")).count() >= 6, "{text}");
    lines.push(r#"for name in 640x480-3s.mp4 7s.wav; do curl -sf -o "$name" "$SAMPLES/$name"; done"#);
    lines.push(r#"curl -sf "$OPENAI_BASE_URL/models" -H "Authorization: Bearer $OPENAI_API_KEY""#);
    let mut shell = Command::new("sh");
    shell.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir(folder.path());
    let output = shell.args(["-ec", &lines.join("\n")]).stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let shown = format!("{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && !shown.contains("\"error\""), "{}: {shown}", output.status);
    for part in ["\"task_id\":\"", "chat.completion", "event: message_stop", "\"object\":\"list\""] {
        assert!(printed.contains(part), "{part}: {shown}");
    }
    for (name, begin) in
        [("lighthouse.png", &b"\x89PNG"[..]), ("640x480-3s.mp4", b"\0\0\0"), ("7s.wav", b"RIFF")]
    {
        assert!(std::fs::read(folder.path().join(name)).unwrap().starts_with(begin), "{name}");
    }
    assert_eq!(gateway.stop(), Some(0));
}

#[test]
fn a_wrong_command_line_exits_with_2() {
    let folder = folder();
    for words in [&["sreve"][..], &["key", "create", "n"], &["account", "deposit", "a", "1e3"]] {
        refused(folder.path(), words, 2);
    }
    assert!(done(folder.path(), &["--version"]).starts_with("gatehouse "));
    assert!(done(folder.path(), &["--help"]).contains("Exit codes:"));
    done(folder.path(), &["customer", "open", "alice"]);
    done(folder.path(), &["key", "create", "n", "--customer", "alice", "--unlimited"]);
}

#[test]
fn the_simulated_providers_run_alone() {
    let folder = folder();
    let mut child = gatehouse(folder.path(), &["sandbox"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let alone = Running { child, banner: String::new() };
    let addresses: serde_json::Value = serde_json::from_str(&line).unwrap();
    for pointer in [
        "/context/submit",
        "/context/samples",
        "/messages/origin",
        "/messages/truth",
        "/chat/origin",
        "/chat/truth",
        "/imagine/api",
        "/ark/data",
        "/ark/control",
        "/dashscope/api",
        "/midjourney/api",
        "/veo/vertex",
        "/veo/token",
    ] {
        let address = addresses.pointer(pointer).and_then(serde_json::Value::as_str);
        assert!(address.is_some_and(|it| it.starts_with("http://127.0.0.1:")), "{pointer}: {addresses}");
    }
    assert_eq!(alone.stop(), Some(0));
}
