//! The types of the admin API that its routes, the pages of the console and the command line share.
//!
//! Never performs anything; `service` does.

pub(crate) mod configuration;
pub(crate) mod deployment;
pub(crate) mod doctor;
pub(crate) mod error;
pub(crate) mod plugin_offer;
pub(crate) mod price;
pub(crate) mod price_version;
pub(crate) mod provider;
pub(crate) mod result;
pub(crate) mod task;
pub(crate) mod webhook;

pub use configuration::{DefaultEffect, DefaultView, EffectiveView, FamilyDefaultsFile, ReloadView};
pub use deployment::{DeploymentKindView, DeploymentOutcomeView, DeploymentStageView, DeploymentView};
pub use doctor::{DoctorReport, DoctorRun, RunState};
pub use error::OperationError;
pub use plugin_offer::{Component, PluginOffer};
pub use price::{FamilyPrices, PreviewCharge, PreviewUnit, PricePreview, PricesView, TokenPrice, UnitPrice};
pub use price_version::{
    PriceChangeView, PriceChanges, PricePartView, PriceVersionDetails, PriceVersionView, PriceView,
};
pub use provider::{
    AccountErrorView, AccountHealth, BreakerView, ProviderAccountView, ProviderView, WaitingView,
};
pub use result::{
    LoginLinkView, PluginOutcome, PluginState, PluginView, Revealed, StageVerdict, StageView, UninstalledView,
};
pub use task::{AdoptedReply, RulingWord, TaskRuling};
pub use webhook::{
    AttemptView, DeliveryStatus, DeliveryView, EventName, NewWebhook, ResendRange, ResentRange,
    WebhookPolicyView, WebhookView,
};
