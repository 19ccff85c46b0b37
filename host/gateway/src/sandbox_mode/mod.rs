//! Sandbox mode: simulated providers in place of real ones, and a customer with keys to try them.

mod keys;
mod providers;

pub(crate) use keys::{SandboxKeys, SandboxKeysError, keys};
pub(crate) use providers::{Simulated, start};
