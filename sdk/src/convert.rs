//! Between the generated types and the ones authors use: `inward` what the host hands over, `outward`
//! what a family answers. Moves data, decides nothing.

mod inward;
mod outward;

pub(crate) use inward::{context, event, inquiry, reply, sse_in, submission};
pub(crate) use outward::{about, accepted, answered, chunk, prepared, refusal, rejection, step};
