//! A gateway as a newcomer starts it: sandbox mode on a fresh data folder. The pages' lines run against it in a shell, with
//! its address and its keys where the pages have their own.

use std::path::Path;
use std::process::Stdio;

use gatehouse_harness::{Gateway, Setup};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// The address in the pages.
const ADDRESS: &str = "http://127.0.0.1:8080";

/// A fresh gateway, and a home for the programs.
pub(crate) struct Fresh {
    pub(crate) gateway: Gateway,
    home: TempDir,
}

impl Fresh {
    pub(crate) async fn start() -> Self {
        Self::start_with("").await
    }

    /// The same with `more` configuration.
    pub(crate) async fn start_with(more: &str) -> Self {
        let setup = Setup::sandbox_mode(env!("CARGO_BIN_EXE_gatehouse")).with(more);
        let gateway = Gateway::start(setup).await;
        let home = tempfile::tempdir().expect("a home");
        std::fs::create_dir(home.path().join("bin")).expect("a folder for programs");
        Self { gateway, home }
    }

    /// A page of the project, as a reader has it who filled in what the gateway printed.
    pub(crate) fn page(&self, path: &str) -> String {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        let page =
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        page.replace(ADDRESS, &format!("http://{}", self.gateway.public))
            .replace("OPENAI_API_KEY=sk-...", &format!("OPENAI_API_KEY={}", self.key("bare")))
            .replace("KEY=sk-...", &format!("KEY={}", self.key("wrapped")))
    }

    /// One of the two keys: `wrapped` or `bare`.
    pub(crate) fn key(&self, name: &str) -> String {
        let keys =
            std::fs::read_to_string(self.gateway.folder().join("data/sandbox-keys.json")).expect("keys");
        let keys: Value = serde_json::from_str(&keys).expect("JSON");
        keys[name].as_str().unwrap_or_else(|| panic!("{name} in {keys}")).to_owned()
    }

    /// A file in the folder that shells begin in.
    pub(crate) fn write(&self, name: &str, content: &[u8]) {
        std::fs::write(self.home.path().join(name), content).expect("a file");
    }

    /// Makes a program known by its name.
    pub(crate) fn install(&self, name: &str, starts: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let file = self.home.path().join("bin").join(name);
        std::fs::write(&file, format!("#!/bin/sh\nexec {starts} \"$@\"\n")).expect("a program");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("a program that runs");
    }

    /// What a shell prints that runs `lines` with `arguments` and is typed `typed`.
    pub(crate) async fn shell(&self, lines: &str, arguments: &[&str], typed: &str) -> String {
        let mut command = Command::new("sh");
        command.args(["-e", "-c", lines, "sh"]).args(arguments);
        // The developer's own settings are not part of the test.
        let path = format!("{}/bin:/usr/local/bin:/usr/bin:/bin", self.home.path().display());
        command.env_clear().env("HOME", self.home.path()).env("PATH", path);
        command.current_dir(self.home.path()).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a shell");
        let mut input = child.stdin.take().expect("piped");
        // A program that reads nothing may have ended.
        let _ = input.write_all(typed.as_bytes()).await;
        drop(input);
        let output = child.wait_with_output().await.expect("the lines run");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{}: {lines}\n{out}{err}", output.status);
        out.into_owned()
    }
}
