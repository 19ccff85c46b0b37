//! One cargo run for one plugin.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::discover::lib_name;
use crate::target::{TARGET, ensure_target};

/// Why there is no component.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The target is not installed and could not be.
    TargetMissing {
        /// What rustup said.
        why: String,
    },
    /// A program could not be started.
    Start {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A manifest could not be read or has no package name.
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// cargo failed.
    Cargo {
        /// The crate.
        plugin: String,
        /// What cargo and rustc said.
        stderr: String,
    },
    /// cargo succeeded and the component is not where it belongs.
    NoArtifact(PathBuf),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TargetMissing { why } => {
                write!(f, "the Rust target {TARGET} is missing; run `rustup target add {TARGET}` ({why})")
            }
            Self::Start { program, source } => write!(f, "cannot start {program}: {source}"),
            Self::Manifest { path, why } => write!(f, "{}: {why}", path.display()),
            Self::Cargo { plugin, stderr } => write!(f, "building plugin {plugin} failed:\n{stderr}"),
            Self::NoArtifact(path) => {
                write!(f, "no component at {}: the crate needs `crate-type = [\"cdylib\"]`", path.display())
            }
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Start { source, .. } => Some(source),
            _ => None,
        }
    }
}

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

/// The cargo that runs us, so that one toolchain builds both halves.
#[expect(clippy::disallowed_methods, reason = "a build tool: cargo speaks to it through the environment")]
fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Takes out of `command` what an outer cargo, clippy, rustdoc or coverage run set for itself: a wrapper
/// or flag meant for the host would break the wasm build, or rebuild it at every change of tool.
pub(crate) fn clean(command: &mut Command) -> &mut Command {
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

pub(crate) fn output(command: &mut Command) -> Result<Output, BuildError> {
    command.stdin(Stdio::null());
    command.output().map_err(|source| BuildError::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })
}
