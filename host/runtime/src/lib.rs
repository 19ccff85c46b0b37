//! The plugin runtime; but for what an instance is given (`guest`), the only crate that knows wasmtime.
//!
//! Owns the engine and its limits, the deployment of versions and their canary period, the registry of active
//! families, the versions pinned by live tasks, and every call of a plugin: a fresh instance on a plugin thread, with
//! its answer checked. Never opens a socket, never reads a clock of its own, never keeps a task. Called by `driver`
//! (through [`PluginService`]) and by `play` (through [`ComponentRunner`]).
//!
//! ```text
//! component -> admit .. rehearse -> switch -> canary -> alone, or rolled back          (deploy/, stages/, serving/)
//! call      -> fair queue -> plugin thread -> fresh instance -> lower, call, lift -> answer rules
//!                                                                        (calls/, exec/, version/, abi_v1/)
//!
//! calls -> deploy -> serving -> stages -> version -> exec -> abi_v1
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
mod package;
mod serving;
mod signatures;
mod stages;
mod store;
mod version;

pub use abi_v1::exports::Half;
pub use calls::ServedBy;
pub use calls::service::{PluginService, StepRoute};
pub use calls::tasks::StateBefore;
pub use calls::text::Relay;
pub use component_runner::ComponentRunner;
pub use config::{
    CanaryConfig, CompilerLimits, CompilerProcess, Config, Inventory, OwnPath, STREAMS, Unserved,
};
pub use deploy::deployments::Deployments;
pub use deploy::pipeline::{Removal, compile_before_start};
pub use exec::limits::Limits;
pub use fault::Fault;
pub use gatehouse_schema::SettingProblem;
pub use package::{Package, PackageError};
pub use serving::active::FamilyError;
pub use serving::forms::takes_list;
pub use serving::registry::{Disabled, ModelRow, Registry, Resolved, ServedRoute};
pub use serving::summary::{VersionState, VersionSummary};
pub use serving::switch::Companion;
pub use serving::versions::{RemoveError, VersionUnavailable};
pub use signatures::{NotAKey, PublicKey, Signature, SignatureError, SigningKey, Trust};
pub use stages::admit::{AdmitError, SignedComponent};
pub use stages::compile::{package_code, precompile};
pub use stages::describe::DescribeError;
pub use stages::fit::{FitError, settings_problems};
pub use stages::inspect::{InspectError, WASI_PACKAGES, interfaces};
pub use stages::rehearse::{LiveSample, LiveState, LiveStates, RehearseError};
pub use stages::report::{DeployError, DeployReport, OpenError, StageError, StageReport, StageVerdict};
pub use stages::self_test::SelfTestError;
pub use store::manifest_index::{ManifestFacts, ModelNames};
pub use store::packaged::PackagedCode;
pub use store::plugin_store::{active_versions, settings_schemas};
pub use version::loaded::Version;
pub use version::tasks::{StartContext, Submitted};
pub use version::text::{MAX_OUTPUT_TOKENS, PreparedDialect, PreparedRequest, PreparedText, RequestInstance};

#[cfg(test)]
mod tests;
