//! The types of the admin API that its routes, the pages of the console and the command line share.
//!
//! Never performs anything; `service` does.

pub(crate) mod error;
pub(crate) mod plugin;
pub(crate) mod price;
pub(crate) mod provider;
pub(crate) mod system;
pub(crate) mod task;
pub(crate) mod values;
pub(crate) mod webhook;

pub use error::OperationError;
pub use plugin::{Component, PluginOffer, PluginVersion};
pub use provider::{AccountHealth, ProviderView};
pub use system::{
    BackupView, DefaultEffect, DefaultView, EffectiveView, FamilyDefaultsFile, FleetView, NodeRole, NodeView,
    ReloadView,
};
pub use task::{AdoptedReply, RulingWord, TaskRuling};
pub use values::{Moment, Revealed};
pub use webhook::{NewWebhook, ResendRange};
