//! What the simulated text providers share: answers, faults, delivery of replies, and the record of requests.
//!
//! Knows no protocol. [`crate::messages`] and [`crate::chat`] check requests and write answers in their own
//! format, then hand over a reply plan, which is sent as the request's markers demand. A token is
//! a word between white space, so that a test can compute a bill by hand.
//!
//! ```text
//! request -> provider.begin (recorded) -> protocol: check, plan -> delivery: steps -> split -> body -> socket
//! ```

pub(crate) mod answer;
pub(crate) mod delivery;
pub(crate) mod faults;
pub(crate) mod input_image;
pub(crate) mod markers;
pub(crate) mod provider;
pub(crate) mod record;
pub(crate) mod request_log;

pub use markers::{MARKERS, MarkerInfo, Protocol};
pub use provider::TextAddresses;
pub use record::{Received, TextRecord, Usage};
