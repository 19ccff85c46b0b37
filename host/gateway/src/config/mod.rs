//! `gatehouse.toml`: the whole document as one type; each section is the type of the crate that uses it.
//!
//! Owns how the file is found, merged over the defaults of the families, overridden from the environment, checked
//! and shown. Never reads a secret, only the reference to it.

mod document;
mod effective;
mod error;
mod load;
mod remedy;
mod renamed_keys;
mod runtime;
mod sections;
#[cfg(test)]
mod tests;

pub(crate) use load::{Loaded, load};
pub(crate) use sections::{Config, SandboxConfig};
