//! What of a start takes long: the families that have to be compiled. Which of them are not ready yet, and how each becomes so
//! while the others serve.

use gatehouse_model::Digest;

use crate::deploy::error::StageError;
use crate::service::PluginService;
use crate::state::lock;

impl PluginService {
    /// The active families that do not serve, because their code has to be compiled first: after an update of the gateway.
    #[must_use]
    pub fn families_without_code(&self) -> Vec<String> {
        lock(&self.state.starting).without_code.keys().cloned().collect()
    }

    /// Compiles the active version of such a family, which serves then; any other family stays as it is. Blocks for seconds.
    pub fn reactivate(&self, family: &str) {
        let entry = lock(&self.state.starting).without_code.get(family).cloned();
        if let Some(entry) = entry {
            self.state.reactivate(family.to_owned(), entry);
            // Not before: until then nobody else may take the family for one without a version.
            lock(&self.state.starting).without_code.remove(family);
        }
    }

    /// Compiles a component that is about to be installed. Several threads may do so at once, each for another component; why
    /// one cannot be compiled is the installation's to say. Blocks for seconds.
    pub fn compile_ahead(&self, wasm: &[u8]) {
        let compiled = self.state.compiler.compile(&Digest::of(wasm), wasm, &self.config());
        if let Err(error @ StageError::Host(_)) = compiled {
            tracing::warn!(%error, "a component is compiled when it is installed");
        }
    }

    /// Names families that are not ready before [`PluginService::is_ready_now`] says so.
    pub fn expect_families(&self, families: impl IntoIterator<Item = String>) {
        lock(&self.state.starting).not_ready.extend(families);
    }

    /// The family serves, or will not before an operator acts.
    pub fn is_ready_now(&self, family: &str) {
        lock(&self.state.starting).not_ready.remove(family);
    }

    /// The families of the start that are not ready.
    #[must_use]
    pub fn families_not_ready(&self) -> Vec<String> {
        lock(&self.state.starting).not_ready.iter().cloned().collect()
    }
}
