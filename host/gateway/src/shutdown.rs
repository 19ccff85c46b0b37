//! The signals that end a process, and the order in which the rooms close.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use gatehouse_admin::{Admin, Door};
use gatehouse_driver::Driver;
use gatehouse_edge::Edge;
use gatehouse_sandbox::Sandbox;
use gatehouse_store::Store;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

/// For requests under way to be answered, long polls among them.
const REQUESTS: Duration = Duration::from_secs(30);
/// For steps under way; a call cut short is found again by the next start.
const STEPS: Duration = Duration::from_secs(10);

/// SIGTERM and SIGINT.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Takes the signals over from the operating system's default, which is to end at once.
    pub(crate) fn take() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Ends at the next signal.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// Everything that has to be closed, and in what order.
pub(crate) struct House {
    pub(crate) edge: Edge,
    pub(crate) driver: Driver,
    pub(crate) admin: Admin,
    pub(crate) door: Door,
    pub(crate) data: PathBuf,
    pub(crate) upkeep: JoinHandle<()>,
    pub(crate) store: Store,
    pub(crate) sandbox: Option<Sandbox>,
}

impl House {
    /// Closes the house: what is under way may finish, nothing new begins.
    pub(crate) async fn close(self) {
        // First, so that `/readyz` says so while the listeners still answer.
        self.driver.drain();
        self.edge.drain(REQUESTS).await;
        self.driver.stop(STEPS).await;
        if let Err(error) = self.door.remove(&self.data) {
            tracing::warn!(%error, "the admin door's file could not be removed");
        }
        self.admin.stop().await;
        self.upkeep.abort();
        if let Some(sandbox) = self.sandbox {
            sandbox.stop().await;
        }
        let store = self.store;
        if let Err(error) = tokio::task::spawn_blocking(move || store.close()).await {
            tracing::error!(%error, "the store did not close well; the next start recovers it");
        }
    }
}
