//! Builds one plugin with one cargo run.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{cargo, clean, output};
use crate::discover::lib_name;
use crate::error::{BuildError, TARGET};
use crate::target::ensure_target;

/// Builds the plugin crate in `crate_dir` with the workspace's `plugin` profile and returns the component's
/// path below `target_dir`. Calls may run at the same time: cargo's own lock on the folder orders them.
///
/// # Errors
/// [`BuildError`] says which step failed; compiler errors are in it.
pub fn build_plugin(crate_dir: &Path, target_dir: &Path) -> Result<PathBuf, BuildError> {
    let manifest = crate_dir.join("Cargo.toml");
    let lib = lib_name(&manifest)?;
    ensure_target(crate_dir)?;
    let mut cargo = Command::new(cargo());
    cargo.args(["build", "--lib", "--profile", "plugin", "--target", TARGET]);
    cargo.arg("--manifest-path").arg(&manifest).arg("--target-dir").arg(target_dir);
    if crate_dir.ancestors().any(|dir| dir.join("Cargo.lock").is_file()) {
        cargo.arg("--locked");
    }
    // rust-toolchain.toml and .cargo/config.toml are looked up from the working folder.
    cargo.current_dir(crate_dir);
    let done = output(clean(&mut cargo))?;
    if !done.status.success() {
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        return Err(BuildError::Cargo { plugin: lib, stderr });
    }
    let wasm = target_dir.join(TARGET).join("plugin").join(format!("{lib}.wasm"));
    if wasm.is_file() { Ok(wasm) } else { Err(BuildError::NoArtifact(wasm)) }
}
