//! Compilations while a gateway waits for the place of another, so that its turn does not begin with them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_runtime::compile_before_start;
use tokio::task::JoinHandle;

use super::memory::compilers;
use crate::config::Config;
use crate::plugins::built_in::PLUGINS;

/// The compilations of one wait. They end when it is dropped, the one under way not before it is done.
pub(super) struct CompileAhead {
    goes_on: Arc<AtomicBool>,
    work: JoinHandle<()>,
}

impl CompileAhead {
    /// Begins to compile what the data folder `root` will serve under this configuration.
    pub(super) fn begin(config: &Config, root: &Path) -> Self {
        let goes_on = Arc::new(AtomicBool::new(true));
        let config = gatehouse_runtime::Config { compilers: compilers(), ..config.runtime(root.to_owned()) };
        let go_on = Arc::clone(&goes_on);
        let work = tokio::task::spawn_blocking(move || {
            let built_in: Vec<&[u8]> = PLUGINS.iter().map(|plugin| plugin.wasm).collect();
            match compile_before_start(config, &built_in, &|| go_on.load(Ordering::Acquire)) {
                Ok(compiled) => tracing::info!(compiled, "its plugins are compiled"),
                // The start itself comes to the same, and says what to do.
                Err(error) => tracing::warn!(%error, "plugins are not compiled while it waits"),
            }
        });
        Self { goes_on, work }
    }

    /// Ends them. Two engines at once would take the memory of two gateways, so the one under way is waited for.
    pub(super) async fn end(mut self) {
        self.goes_on.store(false, Ordering::Release);
        if let Err(error) = (&mut self.work).await {
            tracing::warn!(%error, "plugins are not compiled while it waits");
        }
    }
}

impl Drop for CompileAhead {
    fn drop(&mut self) {
        self.goes_on.store(false, Ordering::Release);
    }
}
