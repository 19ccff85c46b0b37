//! Runs cargo, rustc and rustup from inside cargo.

use std::process::{Command, Output, Stdio};

use crate::error::BuildError;

/// The cargo that runs this process, so that one toolchain builds host and plugin.
#[expect(clippy::disallowed_methods, reason = "a build tool: cargo speaks to it through the environment")]
pub(crate) fn cargo() -> std::ffi::OsString {
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
