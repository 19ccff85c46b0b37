//! Compilations before a start: a gateway that waits for the place of another compiles what it will serve, so that its turn does not begin
//! with that.
//!
//! Nothing but code is written, which is kept by content: which versions are active, and what live tasks need, is known once the store is
//! open, and the start itself decides then.

use gatehouse_model::Digest;

use crate::config::Config;
use crate::serving::versions::Versions;
use crate::stages::error::OpenError;

/// Compiles the active versions of a data folder, and `others`, as far as they have no code. Between two of them it ends where
/// `goes_on` says no. How many were compiled. Blocks, for seconds each.
///
/// # Errors
/// [`OpenError`] when the engine or the plugin store does not work; a component that cannot be compiled is the start's to tell.
pub fn compile_before_start(
    config: Config,
    others: &[&[u8]],
    goes_on: &dyn Fn() -> bool,
) -> Result<usize, OpenError> {
    let versions = Versions::open(config, false)?;
    let failed = |source| OpenError::Folder { path: versions.store.active_path(), source };
    let mut compiled = 0;
    let mut compile = |digest: &Digest, wasm: &[u8]| {
        let code = versions.compiler.compile(digest, wasm, &versions.config.load());
        compiled += usize::from(code.is_ok_and(|(_, is_new)| is_new));
    };
    for entry in versions.store.active().map_err(failed)?.into_values() {
        if goes_on()
            && !versions.compiler.is_compiled(&entry.digest)
            && let Some(wasm) = versions.store.component(&entry.digest).map_err(failed)?
        {
            compile(&entry.digest, &wasm);
        }
    }
    for wasm in others {
        let digest = Digest::of(wasm);
        if goes_on() && !versions.compiler.is_compiled(&digest) {
            compile(&digest, wasm);
        }
    }
    Ok(compiled)
}
