//! The signals that end a process, and the order in which the rooms close.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_admin::{Admin, Door};
use gatehouse_driver::Driver;
use gatehouse_edge::Edge;
use gatehouse_model::Clock;
use gatehouse_sandbox::Sandbox;
use gatehouse_store::Store;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

/// For requests under way to be answered, long polls among them.
const REQUESTS: Duration = Duration::from_secs(30);
/// For steps under way that the next start can repeat. Clients whose connections wait for it wait as long.
const STEPS: Duration = Duration::from_secs(2);
/// For calls that may not be repeated, beyond that: one cut short is a job its provider does for nobody.
const CALLS: Duration = Duration::from_secs(30);

/// SIGTERM and SIGINT.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// The one a person sends, who does not want to wait.
    pub(crate) const BY_HAND: &str = "SIGINT";

    /// Takes the signals over from the operating system's default, which is to end at once.
    pub(crate) fn take() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Ends at the next signal.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => Self::BY_HAND,
        }
    }
}

/// Everything that has to be closed, and in what order.
pub(crate) struct House {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) edge: Edge,
    pub(crate) driver: Driver,
    pub(crate) admin: Admin,
    pub(crate) door: Door,
    pub(crate) data: PathBuf,
    pub(crate) upkeep: JoinHandle<()>,
    pub(crate) incoming: Option<JoinHandle<()>>,
    pub(crate) store: Store,
    pub(crate) sandbox: Option<Sandbox>,
}

impl House {
    /// Closes the house: whoever was let in is answered, what is under way may finish. In a `hurry` nobody is
    /// given time to go elsewhere first.
    pub(crate) async fn close(self, hurry: bool) {
        // First, so that `/readyz` says so while the listeners still answer.
        self.driver.leave();
        if !hurry {
            self.edge.lame_duck().await;
        }
        // From here on new connections wait for the next process, so steps and requests end side by side.
        self.driver.drain();
        self.edge.drain(REQUESTS).await;
        self.driver.stop(STEPS, CALLS).await;
        if let Err(error) = self.door.remove(&self.data) {
            tracing::warn!(%error, "the admin door's file could not be removed");
        }
        self.admin.stop().await;
        self.upkeep.abort();
        if let Some(incoming) = self.incoming {
            incoming.abort();
        }
        if let Some(sandbox) = self.sandbox {
            sandbox.stop().await;
        }
        let store = self.store;
        if let Err(error) = tokio::task::spawn_blocking(move || store.close()).await {
            tracing::error!(%error, "the store did not close well; the next start recovers it");
        }
    }
}
