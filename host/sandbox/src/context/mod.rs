//! The simulated context-image provider: FLUX.1 Kontext pro and max as its public API answers.
//!
//! Owns the provider's wire protocol and its memory of jobs. Three origins, as the real one has: submits and
//! credits, results, files; the submit origin knows nothing of results, so a client that rebuilds the polling
//! address instead of using the returned one fails here too. A fourth tells tests what is [true](Truth).
//! Never fetches anything: an image URL is believed to be reachable, its size is known only when it is one of
//! the sandbox's own samples (1024x1024 otherwise), and a webhook is accepted but never called.
//!
//! ```text
//! POST /v1/flux-kontext-pro|max -> submit -> schema -> input -> faults -> book
//! GET  /v1/get_result?id=       -> poll   -> book -> a freshly signed link
//! GET  /results/..?se=&sig=     -> delivery -> signature -> pixels
//! ```

mod book;
mod delivery;
mod faults;
mod input;
mod poll;
mod provider;
mod refusal;
mod schema;
mod signature;
mod sizes;
mod submit;
mod truth;

pub use faults::MARKERS;
pub(crate) use provider::Provider;
pub use provider::{ContextAddresses, MalformedKey};
pub use truth::{Declined, Submit, Truth};
