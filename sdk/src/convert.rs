//! Between the generated types and the ones authors use: `inward` what the host hands over, `outward`
//! what a family answers. Moves data, decides nothing.

mod inward;
mod outward;

pub(crate) use inward::{body, context, event, reply, sse_in, submission};
pub(crate) use outward::{about, accepted, chunk, failure, json, opened, refusal, step, usage};
