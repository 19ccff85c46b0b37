//! Prices of text models from a public list, the file `model_prices_and_context_window.json` that many tools share: read exactly,
//! compared with the configuration, and written into it.
//!
//! Owns what of the list is understood, and which of its entries is a model's. Never asks the network, and never writes a
//! configuration that could not be loaded. Why a list cannot be imported is a sentence for the operator.

mod list;
mod proposal;
mod write;

pub(crate) use list::PriceList;
pub(crate) use proposal::{Proposal, Wanted, propose};
pub(crate) use write::{replace, with_prices};
