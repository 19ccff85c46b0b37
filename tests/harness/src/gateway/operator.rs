//! What an operator does beside the process: edits of its configuration, requests of its admin API, a look at its metrics and
//! plugins, commands that are refused, and a crash.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::Value;

use super::caller::Caller;
use super::process::Gateway;
use crate::http::send;

impl Gateway {
    /// Its configuration, as the file has it.
    #[must_use]
    pub fn config(&self) -> String {
        std::fs::read_to_string(self.config_file()).expect("a configuration")
    }

    /// Replaces the file of its configuration, which nobody reads yet.
    pub fn set_config(&self, text: &str) {
        std::fs::write(self.config_file(), text).expect("a configuration");
    }

    /// Replaces the file of its configuration and has it read; what changed.
    pub async fn reload(&self, text: &str) -> Value {
        self.set_config(text);
        self.json(&["reload"]).await
    }

    /// The admin listener, which serves the metrics.
    #[must_use]
    pub fn admin(&self) -> SocketAddr {
        let admin = self.endpoint("admin.json");
        admin["address"].as_str().and_then(|address| address.parse().ok()).expect("an address")
    }

    /// A client of the admin API with the operators' token.
    #[must_use]
    pub fn operator(&self) -> Caller {
        self.admin_client("admin.json")
    }

    /// The same with the token that only reads.
    #[must_use]
    pub fn viewer(&self) -> Caller {
        self.admin_client("admin-viewer.json")
    }

    /// Its metrics, a line for each value.
    pub async fn metrics(&self) -> String {
        send(self.admin(), "GET", "/metrics", &[], "").await.text()
    }

    /// The plugin versions as `plugin list` has them.
    pub async fn plugins(&self) -> Vec<Value> {
        let mut list = self.json(&["plugin", "list"]).await;
        serde_json::from_value(list["data"].take()).expect("a list of versions")
    }

    /// Runs a command that has to fail; its exit code, and its standard error.
    pub async fn refused(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.try_command(arguments).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{arguments:?} was done: {said}");
        (output.status.code(), said)
    }

    /// SIGKILL, and another process on the same data.
    pub async fn crash(&mut self) {
        self.kill().await;
        self.restart().await;
    }

    fn admin_client(&self, file: &str) -> Caller {
        let token = self.endpoint(file)["token"].as_str().expect("a token").to_owned();
        Caller { address: self.admin(), id: String::new(), secret: token }
    }

    /// A file that tells commands where the admin listener is.
    fn endpoint(&self, file: &str) -> Value {
        let text = std::fs::read(self.folder().join("data").join(file)).expect("an endpoint file");
        serde_json::from_slice(&text).expect("JSON")
    }

    pub(super) fn config_file(&self) -> PathBuf {
        self.folder().join("gatehouse.toml")
    }
}
