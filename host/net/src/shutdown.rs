//! The phases of a shutdown, as every connection and long poll observes them. Never decides when a phase
//! begins (see the listeners).

use tokio::sync::watch;

/// How far a shutdown has come. Phases only move forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShutdownPhase {
    /// No shutdown.
    Serving,
    /// Requests are served, `/readyz` refuses, every response ends its HTTP/1 connection.
    LameDuck,
    /// No new connections; requests under way are finished.
    Draining,
    /// Remaining connections are dropped.
    Aborting,
}

/// Waits until the shutdown has reached `wanted`, or until the listener is gone.
pub async fn reached(mut phase: watch::Receiver<ShutdownPhase>, wanted: ShutdownPhase) {
    let _ = phase.wait_for(|phase| *phase >= wanted).await;
}
