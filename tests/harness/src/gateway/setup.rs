//! How a gateway is started: its binary and its configuration, around a simulated context-image provider.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use serde_json::Value;

use super::process::Gateway;

/// How to start a gateway.
pub struct Setup {
    pub(super) program: PathBuf,
    /// Whose compiled code the new data folder has.
    pub(super) compiled: Option<PathBuf>,
    pub(super) config: String,
    pub(super) socket: Option<TcpListener>,
    pub(super) pepper: Option<Vec<u8>>,
}

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
        Self::with_config(binary, config)
    }

    /// A gateway in sandbox mode, as without any configuration but on ports of its own.
    #[must_use]
    pub fn sandbox_mode(binary: &str) -> Self {
        let config = "[server]\nlisten = \"127.0.0.1:0\"\n\n[admin]\nlisten = \"127.0.0.1:0\"\n\n\
                      [sandbox]\nenabled = true\n";
        Self::with_config(binary, config.to_owned())
    }

    fn with_config(binary: &str, config: String) -> Self {
        Self { program: binary.into(), compiled: Some(binary.into()), config, socket: None, pepper: None }
    }

    /// A gateway that inherits its public socket, as from systemd: the socket stays when the process ends, and
    /// clients wait in its queue for the next process.
    #[must_use]
    pub fn with_inherited_socket(mut self) -> Self {
        self.socket = Some(TcpListener::bind("127.0.0.1:0").expect("a free port"));
        self
    }

    /// The address of that socket.
    #[must_use]
    pub fn inherited_address(&self) -> SocketAddr {
        self.socket.as_ref().and_then(|socket| socket.local_addr().ok()).expect("an inherited socket")
    }

    /// With the pepper of another gateway, for a store that it works on as well.
    #[must_use]
    pub fn with_pepper_of(mut self, other: &Gateway) -> Self {
        self.pepper = Some(std::fs::read(other.folder().join("data/pepper")).expect("a pepper"));
        self
    }

    /// A program that starts the binary, instead of the binary itself.
    #[must_use]
    pub fn run_by(mut self, program: &str) -> Self {
        self.program = program.into();
        self
    }

    /// Compiles what it needs: nothing can be linked to where its data is.
    #[must_use]
    pub fn compiles(mut self) -> Self {
        self.compiled = None;
        self
    }

    /// Another provider, with an account of each of these names, the first one preferred.
    #[must_use]
    pub fn with_provider(self, name: &str, origin: &str, auth: &str, limit: u32, accounts: &[&str]) -> Self {
        let mut tables =
            format!("[providers.{name}]\nbase_url = \"{origin}\"\nauth = {auth}\nconcurrency = {limit}\n\n");
        for (priority, account) in accounts.iter().enumerate() {
            tables += &format!(
                "[providers.{name}.accounts.{account}]\nsecret = {{ file = \"SECRET\" }}\npriority = {priority}\n\n"
            );
        }
        self.with(&tables)
    }

    /// A text model: its id, its provider's name and protocol, the provider's name for it, and more keys of its table.
    #[must_use]
    pub fn with_model(self, id: &str, provider: &str, protocol: &str, upstream: &str, more: &str) -> Self {
        self.with(&format!(
            "[models.\"{id}\"]\nprovider = \"{provider}\"\nprotocol = \"{protocol}\"\nupstream = \"{upstream}\"\n\
             prices = {{ input = \"2\", cached = \"1\", cache_write = \"3\", output = \"5\" }}\n{more}\n"
        ))
    }

    /// More configuration. A table that exists already takes the new keys; they replace its own.
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
