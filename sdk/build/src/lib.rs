//! Builds plugins for wasm32-wasip2, for build scripts and tests.
//!
//! Owns how cargo is called from inside cargo: its own target folder, an environment cleaned of what the
//! outer run set, the target installed when it is missing. Never decides what is built; called by the
//! gateway's build script, the testkit and the tests of `families`.

mod build;
mod discover;
mod target;

pub use build::{BuildError, build_plugin};
pub use discover::{PluginCrate, discover, plugins_target_dir};
pub use target::{TARGET, ensure_target};
