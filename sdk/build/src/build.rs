//! Builds plugins, one or many, with one cargo run.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{cargo, clean, output};
use crate::discover::{lib_name, package_name};
use crate::error::{BuildError, TARGET};
use crate::target::ensure_target;

/// Builds the plugin crate in `crate_dir` with the workspace's `plugin` profile and returns the component's
/// path below `target_dir`. Calls may run at the same time: cargo's own lock on the folder orders them.
///
/// # Errors
/// [`BuildError`] says which step failed; compiler errors are in it.
pub fn build_plugin(crate_dir: &Path, target_dir: &Path) -> Result<PathBuf, BuildError> {
    let manifest = crate_dir.join("Cargo.toml");
    run(crate_dir, &[package_name(&manifest)?], target_dir)?;
    component(&manifest, target_dir)
}

/// As [`build_plugin`], for the crates in `crate_dirs`, members of the workspace in `workspace`: cargo links several at
/// the same time. The components are in the order of the folders.
///
/// # Errors
/// As [`build_plugin`].
pub fn build_plugins(
    workspace: &Path,
    crate_dirs: &[PathBuf],
    target_dir: &Path,
) -> Result<Vec<PathBuf>, BuildError> {
    let manifests: Vec<PathBuf> = crate_dirs.iter().map(|dir| dir.join("Cargo.toml")).collect();
    let packages: Vec<String> = manifests.iter().map(|path| package_name(path)).collect::<Result<_, _>>()?;
    if !packages.is_empty() {
        run(workspace, &packages, target_dir)?;
    }
    manifests.iter().map(|manifest| component(manifest, target_dir)).collect()
}

/// Builds the packages of the workspace in `dir`, or of the crate there.
fn run(dir: &Path, packages: &[String], target_dir: &Path) -> Result<(), BuildError> {
    ensure_target(dir)?;
    let mut cargo = Command::new(cargo());
    cargo.args(["build", "--lib", "--profile", "plugin", "--target", TARGET]);
    cargo.arg("--manifest-path").arg(dir.join("Cargo.toml")).arg("--target-dir").arg(target_dir);
    for package in packages {
        cargo.args(["--package", package]);
    }
    if dir.ancestors().any(|dir| dir.join("Cargo.lock").is_file()) {
        cargo.arg("--locked");
    }
    // rust-toolchain.toml and .cargo/config.toml are looked up from the working folder.
    cargo.current_dir(dir);
    let done = output(clean(&mut cargo))?;
    if !done.status.success() {
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        return Err(BuildError::Cargo { plugin: packages.join(", "), stderr });
    }
    Ok(())
}

/// The component that a plugin of this manifest was built to.
fn component(manifest: &Path, target_dir: &Path) -> Result<PathBuf, BuildError> {
    let wasm = target_dir.join(TARGET).join("plugin").join(format!("{}.wasm", lib_name(manifest)?));
    if wasm.is_file() { Ok(wasm) } else { Err(BuildError::NoArtifact(wasm)) }
}
