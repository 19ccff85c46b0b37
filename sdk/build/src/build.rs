//! Builds plugins, one or many, with one cargo run, and installs the compilation target when it is missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::discover::{lib_name, package_name};
use crate::error::{BuildError, TARGET};

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

/// Makes sure the toolchain that serves `dir` can build for [`TARGET`], installing it through rustup when
/// it is missing. Returns a sentence to print when something was installed.
///
/// # Errors
/// [`BuildError::TargetMissing`] with the remedy when it cannot be installed.
pub fn ensure_target(dir: &Path) -> Result<Option<String>, BuildError> {
    if is_installed(dir)? {
        return Ok(None);
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", TARGET]).current_dir(dir);
    let why = match output(clean(&mut rustup)) {
        Ok(done) if done.status.success() && is_installed(dir)? => {
            return Ok(Some(format!("installed the Rust target {TARGET} with rustup")));
        }
        Ok(done) => String::from_utf8_lossy(&done.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    Err(BuildError::TargetMissing { why })
}

/// rustc names the folder a target's standard library would be in whether or not it is installed.
fn is_installed(dir: &Path) -> Result<bool, BuildError> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", TARGET]).current_dir(dir);
    let printed = output(clean(&mut rustc))?;
    let libdir = String::from_utf8_lossy(&printed.stdout).trim().to_owned();
    Ok(printed.status.success() && !libdir.is_empty() && Path::new(&libdir).is_dir())
}

/// The cargo that runs this process, so that one toolchain builds host and plugin.
#[expect(clippy::disallowed_methods, reason = "a build tool: cargo speaks to it through the environment")]
fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Takes out of `command` what an outer cargo, clippy, rustdoc or coverage run set for itself: a wrapper
/// or flag meant for the host would break the wasm build, or rebuild it at every change of tool.
fn clean(command: &mut Command) -> &mut Command {
    const KEPT: [&str; 6] =
        ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_", "CARGO_REGISTRY_", "CARGO_TERM_"];
    const DROPPED: [&str; 6] = ["CARGO", "CLIPPY_", "MAKEFLAGS", "MFLAGS", "RUSTC", "RUSTFLAGS"];
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let kept = KEPT.iter().any(|prefix| text.starts_with(prefix));
        let dropped = DROPPED.iter().any(|prefix| text.starts_with(prefix)) || text.starts_with("RUSTDOC");
        if dropped && !kept {
            command.env_remove(&name);
        }
    }
    command
}

fn output(command: &mut Command) -> Result<Output, BuildError> {
    command.stdin(Stdio::null());
    command.output().map_err(|source| BuildError::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })
}
