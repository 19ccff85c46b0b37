//! Between the words authors use and the host's. Moves data, decides nothing.

mod from_host;
pub(crate) mod text;
mod to_host;

pub(crate) use from_host::{accepted, refusal, step};
pub(crate) use to_host::{context, event, reply, submission};
