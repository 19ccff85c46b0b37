//! Builds plugins for wasm32-wasip2, for build scripts and tests.
//!
//! Owns how cargo is called from inside cargo: its own target folder, an environment cleaned of what the
//! outer run set, the target installed when it is missing. Never decides what is built. Callers: the gateway's
//! build script, the test kit and the tests of the runtime.

mod build;
mod discover;
mod error;

pub use build::{build_plugin, build_plugins, ensure_target};
pub use discover::{PluginCrate, discover, plugins_target_dir, target_dir};
pub use error::{BuildError, TARGET};
