//! The simulated chat completions, as OpenAI's public API answers, and one clone of it that is not quite the same.
//!
//! Owns the wire: which requests are good, the words of its refusals, answers whole and streamed. Three models:
//! `gpt-sim`, `gpt-sim-reasoning`, and `clone-sim` of a server that only means to be compatible.
//!
//! ```text
//! POST /v1/chat/completions -> site -> order -> message, tools -> rules -> answer -> write -> text::delivery::send
//! ```

mod answer;
mod message;
mod order;
mod part;
mod prompt;
mod refusal;
mod rules;
mod shape;
mod site;
mod tools;
mod write;

pub(crate) use site::ChatEndpoint;
