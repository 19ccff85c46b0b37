//! The simulated chat completions: OpenAI's public API, and one clone that differs in details.
//!
//! Owns the wire format: the checks of a request, the words of its errors, answers whole and streamed. Three models of
//! text: `gpt-sim`, `gpt-sim-reasoning`, and `clone-sim`, a server that claims to be compatible. Two of vectors: `embed-sim`, and
//! `embed-sim-old`, whose vectors have one length.
//!
//! ```text
//! POST /v1/chat/completions -> text::endpoint -> protocol -> request (schema, rules) -> text::answer -> write
//! POST /v1/embeddings       -> text::endpoint -> protocol -> embeddings (schema, rules, vectors)
//! ```

mod embeddings;
mod errors;
mod logprobs;
mod message;
mod models;
mod protocol;
mod request;
mod schema;
mod write;

pub(crate) use errors::Chat;
