//! The operators' door: what an operator may ask of a running gateway, a listener to ask it on, and the
//! client that asks.
//!
//! Owns the [`Operation`]s and their [`Outcome`]s, the admin listener with its token, health and metrics
//! pages, and the file through which commands on the same machine find the door. Never performs an
//! operation itself (the gateway does, behind [`Operations`]), never shares a listener with clients.
//! Called by `gateway` only.

mod client;
mod config;
mod door;
mod operation;
mod outcome;
mod server;
#[cfg(test)]
mod tests;
mod token;

pub use client::{ClientError, ask};
pub use config::Config;
pub use door::Door;
pub use operation::{Component, NewKey, Operation, OperationError};
pub use outcome::{
    AuditNote, Examination, KeyView, Outcome, PluginState, PluginView, Revealed, StageVerdict, StageView,
};
pub use server::{Admin, Operations, Performing};
pub use token::Token;
