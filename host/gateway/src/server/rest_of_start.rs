//! What a start compiles: ahead, while another gateway is at work, and behind its open listeners.
//!
//! The families at a start: what has to be compiled is compiled while the listeners answer, several components at once, and each
//! family serves as soon as it can. The person at the terminal reads how far it is.
//!
//! Compilations while a gateway waits for the place of another, so that its turn does not begin with them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gatehouse_admin::Deployed;
use gatehouse_runtime::{PluginService, compile_before_start};
use tokio::task::JoinHandle;

use super::error::ServeError;
use super::memory::compilers;
use super::services::Services;
use crate::config::Config;
use crate::plugins::built_in::{BuiltInError, Installation, PLUGINS};
use crate::plugins::parallel::for_each;
use crate::terminal;

/// The families of one start.
pub(super) struct FamilyStart {
    plugins: PluginService,
    /// Where the record of built-in plugins is.
    folder: PathBuf,
    expected: usize,
}

impl FamilyStart {
    /// Names the families that are not ready; before the listeners open.
    pub(super) fn new(services: &Services) -> Result<Self, ServeError> {
        let (plugins, folder) = (services.plugins.clone(), services.folder.plugins());
        let new: Vec<String> =
            Installation::of(&plugins, &folder, PLUGINS)?.new_families().map(str::to_owned).collect();
        plugins.expect_families(new);
        let not_ready = plugins.families_not_ready();
        if !not_ready.is_empty() {
            let count = not_ready.len();
            terminal::print(&format!(
                "{count} families are compiled first, once: {}\n",
                not_ready.join(", ")
            ));
        }
        Ok(Self { plugins, folder, expected: not_ready.len() })
    }

    /// Makes them ready. What was deployed, for the history.
    pub(super) async fn run(&self) -> Result<Vec<Deployed>, ServeError> {
        let (plugins, folder, expected) = (self.plugins.clone(), self.folder.clone(), self.expected);
        let starting = tokio::task::spawn_blocking(move || start(&plugins, &folder, expected));
        Ok(starting.await??)
    }
}

/// Blocks until all of them serve, or were refused.
fn start(plugins: &PluginService, folder: &Path, expected: usize) -> Result<Vec<Deployed>, BuiltInError> {
    let count = AtomicUsize::new(0);
    let ended = |family: &str| {
        if !plugins.families_not_ready().iter().any(|name| name == family) {
            return;
        }
        plugins.is_ready_now(family);
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        let serves = plugins.registry().family(family).is_some();
        let word = if serves { "serves" } else { "does not serve, see the log" };
        terminal::print(&format!("  {number} of {expected}: {family} {word}\n"));
    };
    let at_once = compilers();
    // The versions of before come first: what they serve belongs to them.
    for_each(&plugins.families_without_code(), at_once, |family| {
        plugins.reactivate(family);
        ended(family);
    });
    Installation::of(plugins, folder, PLUGINS)?.run(at_once, &ended)
}

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
            let built_in: Vec<_> = PLUGINS.iter().map(|plugin| (plugin.digest, plugin.wasm)).collect();
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
