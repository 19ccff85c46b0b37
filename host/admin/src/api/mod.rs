//! The types of the admin API that its routes, the pages of the console and the command line share.
//!
//! Never performs anything; `service` does.

pub(crate) mod backup;
pub(crate) mod configuration;
pub(crate) mod deployment;
pub(crate) mod doctor;
pub(crate) mod error;
pub(crate) mod fleet;
pub(crate) mod plugin;
pub(crate) mod plugin_offer;
pub(crate) mod price;
pub(crate) mod price_version;
pub(crate) mod provider;
pub(crate) mod task;
pub(crate) mod values;
pub(crate) mod webhook;

pub use backup::BackupView;
pub use configuration::{DefaultEffect, DefaultView, EffectiveView, FamilyDefaultsFile, ReloadView};
pub use error::OperationError;
pub use fleet::{FleetView, NodeRole, NodeView};
pub use plugin::PluginVersion;
pub use plugin_offer::{Component, PluginOffer};
pub use provider::{AccountHealth, ProviderView};
pub use task::{AdoptedReply, RulingWord, TaskRuling};
pub use values::{Moment, Revealed};
pub use webhook::{NewWebhook, ResendRange};
