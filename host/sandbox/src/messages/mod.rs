//! The simulated Messages API: Anthropic's public API.
//!
//! Owns the wire format: the checks of a request, the words of its errors, answers whole and streamed, signatures of
//! thinking, the prompt cache. Never fetches a URL, never runs a server tool. Prompts of any length are cached; the
//! real API caches from about a thousand tokens.
//!
//! ```text
//! POST /v1/messages -> text::endpoint -> protocol -> request (schema, tools, conversation) -> text::answer -> write
//! ```

mod block;
mod conversation;
mod errors;
mod models;
mod prompt;
mod protocol;
mod request;
mod schema;
mod thinking;
mod tools;
mod write;

pub(crate) use errors::Messages;
