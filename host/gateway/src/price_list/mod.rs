//! Prices of text models from a public list, the file `model_prices_and_context_window.json` that many tools share: read exactly,
//! compared with the configuration, and written into it.
//!
//! Owns what of the list is understood, and which of its entries is a model's. Never asks the network, and never writes a
//! configuration that could not be loaded.

mod list;
mod proposal;
mod write;

pub(crate) use list::PriceList;
pub(crate) use proposal::{Proposal, Wanted, propose};
pub(crate) use write::{replace, with_prices};

/// Why a list cannot be imported, a sentence for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct CannotImport(pub(crate) String);
