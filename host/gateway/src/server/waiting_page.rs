//! What answers on the admin listener while a start waits, and the file by which `gatehouse health` finds it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_admin::{AdminEndpoint, Role, Token, Waiting, WaitingServer};
use gatehouse_model::{Clock, Seed};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::watch;

use crate::config::Config;

/// The listener of a start that waits. Its file goes with it.
pub(super) struct WaitingPage {
    server: WaitingServer,
    file: PathBuf,
}

impl WaitingPage {
    /// Begins to answer. `None`, with a line in the log, where that does not work: a start can do without. `root` is the data folder.
    pub(super) fn start(
        (config, root): (&Config, &Path),
        waiting: watch::Receiver<Waiting>,
        metrics: PrometheusHandle,
        (clock, seed): (Arc<dyn Clock>, &dyn Seed),
    ) -> Option<Self> {
        let limits = (config.server.limits.of_connections(), config.server.limits.of_handshakes());
        let page = Box::new(move || metrics.render());
        let started = WaitingServer::start(&config.admin, limits, (waiting, page), clock);
        let server = started.inspect_err(|error| {
            tracing::warn!(address = %config.admin.listen, %error, "nothing answers /livez meanwhile");
        });
        let server = server.ok()?;
        let endpoint = AdminEndpoint {
            address: server.address(),
            token: Token::mint(seed),
            tls: config.admin.tls.is_some(),
        };
        // A gateway that was killed has left them, and on a fixed port they lead here, where nothing but probes is answered.
        for role in [Role::Operator, Role::Viewer] {
            drop(fs::remove_file(AdminEndpoint::path_of(root, role)));
        }
        if let Err(error) = endpoint.write_while_waiting(root) {
            tracing::warn!(%error, "`gatehouse health` does not find this gateway while it waits");
        }
        tracing::info!(admin = %server.address(), "meanwhile /livez and /readyz are answered");
        Some(Self { server, file: AdminEndpoint::path_while_waiting(root) })
    }

    /// Ends it; its address is free afterwards.
    pub(super) async fn stop(self) {
        self.remove_file();
        self.server.stop().await;
    }

    fn remove_file(&self) {
        // One that stays behind leads to nobody, which is what a gateway without a file says too.
        drop(fs::remove_file(&self.file));
    }
}
