//! `gatehouse.toml`: the whole document as one type, each section the room's own.
//!
//! Owns how the file is found, laid over the families' defaults, overridden from the environment, checked
//! and shown. Never reads a secret's value; only where it is.

mod document;
mod effective;
mod load;
mod mistake;
mod remedy;
mod sections;
#[cfg(test)]
mod tests;

pub(crate) use load::{Loaded, load};
pub(crate) use mistake::Mistake;
pub(crate) use sections::{Config, SandboxConfig};
