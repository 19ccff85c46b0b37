//! What the simulated text providers share: answers, faults, delivery of replies, and the record of requests.
//!
//! Knows no protocol: [`crate::messages`], [`crate::chat`] and [`crate::gemini`] implement `TextProtocol`. A token is a word
//! between white space, so that a test can compute a bill by hand.
//!
//! ```text
//! request -> endpoint (recorded) -> protocol: check -> answer -> protocol: write -> delivery: steps, split, body
//! ```

pub(crate) mod answer;
pub(crate) mod delivery;
pub(crate) mod endpoint;
pub(crate) mod input_image;
pub(crate) mod markers;
pub(crate) mod provider;
pub(crate) mod record;
pub(crate) mod refusal;
pub(crate) mod request_log;

pub use markers::{MARKERS, Marker, Protocol};
pub use provider::TextAddresses;
pub use record::{Received, TextRecord, Usage};
