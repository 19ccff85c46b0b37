//! Conversations of `POST /v1/responses`: the host keeps what was asked and answered, and puts what came before into a
//! request before a plugin sees it, in the member `history`. So plugins stay pure, and nobody reads another customer's.
//!
//! Moves items from a kept row into a request without reading them, says when a response was completed, and tells its
//! stream again (`replay`).

mod completed;
mod keep;
mod load;
mod merge;
mod outputs;
mod read;
mod replay;

pub(super) use completed::{stamp_last, with_completed_at};
pub(super) use keep::Kept;
pub use read::{Conversations, KeptResponse};
