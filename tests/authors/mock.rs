//! `gatehouse plugin mock`: a real gateway runs a family against the scripts that its author wrote.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use gatehouse_harness::{Gateway, Setup, run};
use serde_json::{Value, json};

use crate::authors::play::component;
use crate::authors::scene::{REPOSITORY, refused};

/// `plugin mock` on scripts, and what it has printed of its configuration.
struct Mock {
    child: Child,
    out: BufReader<ChildStdout>,
    origin: String,
    configuration: String,
}

impl Mock {
    fn start(scripts: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_gatehouse"))
            .args(["plugin", "mock"])
            .arg(scripts)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let origin = line.split(' ').next().unwrap().to_owned();
        assert!(origin.starts_with("http://127.0.0.1:") && line.contains("Ctrl-C ends"), "{line}");
        let mut configuration = String::new();
        while !configuration.contains("secret = ") {
            assert!(out.read_line(&mut configuration).unwrap() > 0, "{configuration}");
        }
        Self { child, out, origin, configuration }
    }

    /// Presses Ctrl-C; what it printed since it began to serve, and its exit code.
    fn stop(mut self) -> (String, Option<i32>) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        (rest, self.child.wait().unwrap().code())
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        drop(self.child.kill());
    }
}

/// A gateway with the template's family, and the mock as its provider.
async fn gateway(mock: &Mock) -> Gateway {
    let nobody = ["submit", "poll", "delivery", "samples"].map(|name| (name.to_owned(), json!(mock.origin)));
    let nobody = Value::Object(nobody.into_iter().collect());
    // As printed, with a secret that is there.
    let account = mock.configuration.replace("{ env = \"MOCK_API_KEY\" }", "{ file = \"SECRET\" }");
    let more = format!("[prices]\n\"sketch-1\" = \"1\"\n{account}");
    let gateway = Gateway::start(Setup::new(env!("CARGO_BIN_EXE_gatehouse"), &nobody).with(&more)).await;
    gateway.command(&["plugin", "install", &component()]).await;
    gateway
}

async fn outcome(gateway: &Gateway, body: Value) -> Value {
    gateway.open_account("acme", "100").await.finish("/v1/images/generations", &body).await
}

#[test]
fn a_gateway_draws_with_a_script_as_its_provider() {
    run(async {
        let mock = Mock::start(&Path::new(REPOSITORY).join("sdk/templates/rust/play"));
        let gateway = gateway(&mock).await;
        let shown = outcome(&gateway, json!({"model": "sketch-1", "prompt": "a kite"})).await;
        assert_eq!(shown["status"], "completed", "{shown}");
        gateway.expect_sound_ledger().await;
        let (said, code) = mock.stop();
        for line in [
            "POST /sketcher/v1/sketches -> 200, ",
            "GET /sketcher/v1/sketches/s7 -> 200, ",
            "GET /media/cdn.example.com/s7.png -> 200, a sample file",
            "3 calls answered, 0 not expected",
            "draws.play:2: begun 1, played to its end 1",
            "fails.play:2: begun 0, played to its end 0",
        ] {
            assert!(said.contains(line), "{line}: {said}");
        }
        assert_eq!(code, Some(0), "{said}");
    });
}

/// Without the difference an author would look for it in the provider's documentation.
#[test]
fn a_call_that_no_script_expects_is_named_and_ends_the_task() {
    run(async {
        let mock = Mock::start(&Path::new(REPOSITORY).join("sdk/templates/rust/play/draws.play"));
        let gateway = gateway(&mock).await;
        let shown = outcome(&gateway, json!({"model": "sketch-1", "prompt": "a boat"})).await;
        assert_eq!(shown["status"], "failed", "{shown}");
        let (said, code) = mock.stop();
        for line in [
            "-> 400, not the call before ",
            "json.text: expected \"a kite\"",
            "came: \"a boat\"",
            "1 not expected",
        ] {
            assert!(said.contains(line), "{line}: {said}");
        }
        assert_eq!(code, Some(1), "{said}");
    });
}

#[test]
fn scripts_without_a_provider_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"{"submit": {"surface": "images.generate", "body": {}}} {"expect": {"refused": {}}}"#;
    std::fs::write(folder.path().join("a.play"), script).unwrap();
    let problem = refused(folder.path(), &["plugin", "mock", "a.play"], 1);
    assert!(problem.contains("a.play: expected a script with a `reply`"), "{problem}");
    let problem = refused(folder.path(), &["plugin", "mock", "b.play"], 1);
    assert!(problem.contains("b.play: No such file"), "{problem}");
}
