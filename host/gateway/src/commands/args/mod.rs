//! Options of the commands by subject: their grammar and help texts, and for most the operation that they mean.

pub(super) mod author;
pub(super) mod customer;
pub(super) mod key;
pub(super) mod plugin;
pub(super) mod price;
pub(super) mod provider;
pub(super) mod task;
pub(super) mod values;
pub(super) mod webhook;
