//! Errors of a plugin build.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// The one target plugins are built for.
pub const TARGET: &str = "wasm32-wasip2";

/// Why a build failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The target is not installed and could not be.
    TargetMissing {
        /// The output of rustup.
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
        /// The package, or the packages.
        plugin: String,
        /// The output of cargo and rustc.
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
