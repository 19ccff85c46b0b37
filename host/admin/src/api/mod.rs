//! The admin API: operations, their results and their errors, as types and as JSON.
//!
//! Never performs anything; `service` does.

pub(crate) mod configuration;
pub(crate) mod error;
pub(crate) mod operation;
pub(crate) mod result;

pub use configuration::{DefaultEffect, DefaultView, EffectiveView, FamilyDefaultsFile, ReloadView};
pub use error::OperationError;
pub use operation::{Component, NewKey, Operation};
pub use result::{
    AuditNote, Examination, KeyView, OperationResult, PluginState, PluginView, Revealed, StageVerdict,
    StageView,
};
