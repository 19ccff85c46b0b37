//! The operator's text models: the table, the targets of each, and what their tokens and passed fields cost.
//!
//! Pure: nothing here asks a provider or touches a customer's money.

pub(crate) mod bill;
pub(crate) mod counters;
pub(crate) mod passed;
pub(crate) mod table;
pub(crate) mod targets;

pub use bill::TokenPrices;
pub use passed::PassPrice;
pub use table::{ModelConfig, ModelKind, check_models};
pub use targets::TargetConfig;
