//! Between the words authors use and the host's. Moves data, decides nothing.

mod from_host;
mod to_host;

pub(crate) use from_host::{accepted, refusal, step};
pub(crate) use to_host::{context, event, submission};
