//! The simulated Ark: Seedance 2.0 on Volcengine's data plane, and its library of avatar assets on the control plane.
//!
//! Owns both wire protocols and one library: an asset made on the control plane is what `asset://` means on the data plane,
//! for the same account and once its review is over. Four origins: tasks (bearer key), assets (signed requests), the files
//! results link to, and the record. Never checks a signature with the gateway's code: `control` has its own.
//!
//! Account number n is the n-th of the settings' keys: the key itself is the bearer key and the secret of the access key,
//! whose id is `AK` and the key.

pub(crate) mod control;
pub(crate) mod data;
pub mod faults;
pub(crate) mod files;
pub(crate) mod library;
pub(crate) mod media;
pub(crate) mod provider;
pub mod record;
pub(crate) mod refusal;
mod start;
pub(crate) mod tasks;

pub use provider::ArkAddresses;
pub(crate) use start::start;
