//! The simulated chat completions: OpenAI's public API, and one clone that differs in details.
//!
//! Owns the wire format: the checks of a request, the words of its errors, answers whole and streamed. Three models:
//! `gpt-sim`, `gpt-sim-reasoning`, and `clone-sim`, a server that claims to be compatible.
//!
//! ```text
//! POST /v1/chat/completions -> text::endpoint -> protocol -> request (schema, rules) -> text::answer -> write
//! ```

mod errors;
mod message;
mod models;
mod protocol;
mod request;
mod schema;
mod write;

pub(crate) use errors::Chat;
