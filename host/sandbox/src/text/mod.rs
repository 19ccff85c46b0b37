//! What the simulated text providers share: chance, words, faults, broken streams, and what is remembered.
//!
//! Knows no protocol: [`crate::messages`] and [`crate::chat`] judge requests and write answers in their own
//! words, and hand a draft over to be sent the way the request's markers want it. Tokens are
//! words between white space, so that a test can count a bill by hand.
//!
//! ```text
//! request -> desk.arrive (remembered) -> wire judges, drafts -> trouble (steps) -> split -> body -> socket
//! ```

pub(crate) mod body;
pub(crate) mod book;
pub(crate) mod deliver;
pub(crate) mod desk;
pub(crate) mod faults;
pub(crate) mod image;
mod marks;
pub(crate) mod sample;
pub(crate) mod seed;
pub(crate) mod speech;
mod split;
mod trouble;
mod truth;
pub(crate) mod words;

pub use desk::TextAddresses;
pub use marks::{MARKERS, Marker, Protocol};
pub(crate) use truth::TruthSite;
pub use truth::{Received, TextTruth, Usage};
