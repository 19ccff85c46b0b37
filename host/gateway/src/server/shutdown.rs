//! The signals that stop the process, and the order in which its services stop.

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gatehouse_admin::{AdminServer, AdminService};
use gatehouse_driver::Driver;
use gatehouse_edge::Edge;
use gatehouse_model::Clock;
use gatehouse_process::Exporter;
use gatehouse_sandbox::Sandbox;
use gatehouse_store::Store;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::listeners::EndpointFile;
use crate::data_folder::FolderLock;
use crate::reload::RunningConfiguration;
use crate::terminal::Exit;

/// Time for open requests to be answered, long polls included.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for running steps that the next process can repeat. New connections wait that long for the next process.
const STEP_TIMEOUT: Duration = Duration::from_secs(2);
/// Further time for calls that must not be repeated: a cancelled one may leave a job at the provider that no task
/// waits for.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for operations of the admin API under way.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for the store to finish what is queued and to close its file.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for the last traces to be sent.
const TRACES_TIMEOUT: Duration = Duration::from_secs(3);

/// SIGTERM and SIGINT.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// The signal of Ctrl-C: the lame duck phase is skipped.
    pub(crate) const INTERRUPT: &str = "SIGINT";

    /// Handles the signals in place of the operating system's default, which ends the process at once.
    pub(crate) fn handle() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next signal; its name.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => Self::INTERRUPT,
        }
    }
}

/// Traces that are being sent to their collector.
pub(super) struct SentTraces {
    sending: JoinHandle<()>,
    end: oneshot::Sender<()>,
}

impl SentTraces {
    pub(super) fn begin(exporter: Exporter) -> Self {
        let (end, ended) = oneshot::channel();
        Self { sending: tokio::spawn(exporter.run(ended)), end }
    }

    /// Sends what waits, if the collector takes it.
    async fn end(self, clock: &dyn Clock) {
        let _ = self.end.send(());
        tokio::select! {
            _ = self.sending => {}
            () = clock.pause(TRACES_TIMEOUT) => tracing::warn!("the last traces could not be sent in time"),
        }
    }
}

/// A running gateway: everything that has to be stopped.
pub(super) struct Gateway {
    pub(super) service: Arc<AdminService>,
    pub(super) configuration: Arc<RunningConfiguration>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) edge: Edge,
    pub(super) driver: Driver,
    pub(super) admin: AdminServer,
    pub(super) endpoint: EndpointFile,
    pub(super) upkeep: JoinHandle<()>,
    pub(super) traces: Option<SentTraces>,
    /// Keeps the certificate of an authority.
    pub(super) acme: Option<JoinHandle<Infallible>>,
    /// Set when all families have started.
    pub(super) watcher: OnceLock<JoinHandle<()>>,
    pub(super) store: Store,
    /// Released with the process, after the store.
    pub(super) _lock: Option<FolderLock>,
    pub(super) sandbox: Option<Sandbox>,
}

impl Gateway {
    /// Stops the gateway. Accepted requests are answered and running work may finish. `skip_lame_duck` gives
    /// clients and balancers no time to go elsewhere first. Every part has its own time limit.
    pub(super) async fn stop(self, skip_lame_duck: bool) -> Exit {
        // First, so that `/readyz` refuses while the listeners still accept.
        self.driver.process.enter_lame_duck();
        if !skip_lame_duck {
            self.edge.lame_duck().await;
        }
        // New connections wait for the next process from here on, so steps and requests end in parallel.
        self.driver.process.drain();
        self.edge.drain(REQUEST_TIMEOUT).await;
        self.driver.process.stop(STEP_TIMEOUT, CALL_TIMEOUT).await;
        self.endpoint.remove();
        self.admin.stop(OPERATION_TIMEOUT).await;
        self.upkeep.abort();
        self.acme.iter().for_each(JoinHandle::abort);
        if let Some(traces) = self.traces {
            traces.end(&*self.clock).await;
        }
        if let Some(watcher) = self.watcher.into_inner() {
            watcher.abort();
        }
        if let Some(sandbox) = self.sandbox {
            sandbox.stop().await;
        }
        let store = self.store;
        match close(move || store.close(), &*self.clock).await {
            true => Exit::Done,
            false => Exit::Store,
        }
    }
}

/// Closes the store on a blocking thread. False when it failed, or did not end in time; the process ends either way,
/// which frees the file for the next one.
async fn close(close: impl FnOnce() + Send + 'static, clock: &dyn Clock) -> bool {
    tokio::select! {
        closed = tokio::task::spawn_blocking(close) => match closed {
            Ok(()) => return true,
            Err(error) => tracing::error!(%error, "the store did not close well; the next start recovers it"),
        },
        () = clock.pause(CLOSE_TIMEOUT) => {
            tracing::error!("the store did not close in time; the next start recovers it");
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use gatehouse_harness::TestClock;

    use super::*;

    #[test]
    fn the_unit_waits_for_every_part() {
        let unit = include_str!("../../../packaging/systemd/gatehouse.service");
        let given = unit.lines().find_map(|line| line.strip_prefix("TimeoutStopSec=")).unwrap();
        let lame_duck = gatehouse_edge::Config::default().lame_duck_ms;
        let parts =
            [REQUEST_TIMEOUT, STEP_TIMEOUT, CALL_TIMEOUT, OPERATION_TIMEOUT, CLOSE_TIMEOUT, TRACES_TIMEOUT];
        let needed = Duration::from_millis(u64::from(lame_duck)) + parts.iter().sum::<Duration>();
        assert!(Duration::from_secs(given.parse().unwrap()) > needed, "{given} s, {needed:?} needed");
    }

    #[tokio::test]
    async fn the_store_has_its_own_time_to_close() {
        let clock = TestClock::at(1_000);
        assert!(close(|| (), &*clock).await);
        assert!(!close(|| panic!("a bug"), &*clock).await);
        let (end, hangs) = std::sync::mpsc::channel::<()>();
        let hang = move || {
            let _ = hangs.recv();
        };
        let closing = close(hang, &*clock);
        let ended = async {
            clock.armed_times(CLOSE_TIMEOUT, 1).await;
            clock.advance(CLOSE_TIMEOUT);
        };
        assert!(!tokio::join!(closing, ended).0);
        drop(end);
    }
}
