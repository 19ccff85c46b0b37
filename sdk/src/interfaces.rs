//! The traits a family implements: one for each interface of the contract. No types, no behaviour.

pub(crate) mod bulk;
pub(crate) mod dialect;
pub(crate) mod direct;
pub(crate) mod family;
pub(crate) mod jobs;
pub(crate) mod text;
pub(crate) mod views;
