//! The simulated generateContent of Google's Gemini API: whole, and as server-sent events.
//!
//! Owns the wire format: the checks of a request, the words of its errors, answers whole and streamed. One model,
//! `gemini-sim`, which signs its calls as those of the third generation do: a call that comes back without its signature is
//! refused.
//!
//! ```text
//! POST /v1beta/models/gemini-sim:generateContent               -> text::endpoint -> protocol -> request -> text::answer -> write
//! POST /v1beta/models/gemini-sim:streamGenerateContent?alt=sse -> the same
//! ```

mod errors;
mod protocol;
mod request;
mod write;

pub(crate) use errors::Gemini;
