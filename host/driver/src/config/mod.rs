//! The operator's settings, and the tables among them that may be replaced while the gateway runs.

mod settings;
pub(crate) mod tables;
pub(crate) mod variants;

pub use settings::{Config, TextConfig};
pub use tables::PreparedTables;
pub use variants::{PriceVariantConfig, check_price_variants};
