//! The plugin runtime; but for what an instance is given (`guest`), the only crate that knows wasmtime.
//!
//! Owns the engine and its limits, the deployment of versions and their canary period, the registry of active
//! families, the versions pinned by live tasks, and every call of a plugin: a fresh instance on a plugin thread, with
//! its answer checked. Never opens a socket, never reads a clock of its own, never keeps a task. Called by `driver`
//! (through [`PluginService`]) and by `play` (through [`ComponentRunner`]).
//!
//! ```text
//! component -> admit .. rehearse -> switch -> canary -> alone, or rolled back                      (deploy/)
//! call      -> fair queue -> plugin thread -> fresh instance -> lower, call, lift -> answer rules  (exec/, abi_v1/)
//! ```
//! The time limit of a call counts the guest's own processor time, so a busy machine ends no innocent call. Nothing in
//! the sandbox can wait, so a guest can spend nothing but processor time.

mod abi_v1;
mod calls;
mod component_runner;
mod config;
mod deploy;
mod exec;
mod fault;
mod forms;
mod package;
mod registry;
mod service;
mod start;
mod state;
mod version;
mod version_dialect;
mod version_direct;
mod version_error;
mod version_first_step;
mod version_text;
mod versions;

pub use calls::text::Relay;
pub use component_runner::ComponentRunner;
pub use config::{CanaryConfig, Config, STREAMS, Unserved};
pub use deploy::companion::Companion;
pub use deploy::disabled::{Disabled, FamilyError};
pub use deploy::error::{OpenError, StageError};
pub use deploy::fallback::{ServedBy, StateBefore};
pub use deploy::manifest_index::{ManifestFacts, ModelNames};
pub use deploy::pipeline::{Removal, SignedComponent};
pub use deploy::plugin_store::{active_versions, settings_schemas};
pub use deploy::report::{DeployError, DeployReport, StageReport, StageVerdict};
pub use deploy::signatures::{NotAKey, PublicKey, Signature, SignatureError, SigningKey, Trust};
pub use deploy::stages::admit::AdmitError;
pub use deploy::stages::compile_process::{CompilerLimits, CompilerProcess, precompile};
pub use deploy::stages::describe::DescribeError;
pub use deploy::stages::fit::{FitError, Inventory, OwnPath, settings_problems};
pub use deploy::stages::inspect::{InspectError, WASI_PACKAGES, interfaces};
pub use deploy::stages::rehearse::{LiveSample, LiveState, LiveStates, RehearseError};
pub use deploy::stages::self_test::SelfTestError;
pub use exec::limits::Limits;
pub use fault::Fault;
pub use gatehouse_guest::{escape_control, escape_control_in_json};
pub use gatehouse_schema::SettingProblem;
pub use package::{Package, PackageError};
pub use registry::{ModelRow, Registry, Resolved, ServedRoute};
pub use service::{PluginService, StepRoute};
pub use version::Version;
pub use version_dialect::PreparedDialect;
pub use version_error::{RemoveError, VersionUnavailable};
pub use version_first_step::{StartContext, Submitted};
pub use version_text::{MAX_OUTPUT_TOKENS, PreparedText, RequestInstance};
pub use versions::{VersionState, VersionSummary};

#[cfg(test)]
mod tests;
