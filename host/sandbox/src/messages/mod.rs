//! The simulated Messages API, as Anthropic's public one answers.
//!
//! Owns the wire: which requests are good, the words of its refusals, answers whole and streamed, signatures of
//! thinking, the prompt cache. Never fetches a URL, never runs a server tool. Prompts of any length can be cached;
//! the real one wants a thousand tokens and more.
//!
//! ```text
//! POST /v1/messages -> site -> order -> turn, tools -> rules of the model -> answer -> write -> text::delivery::send
//! ```

mod answer;
mod block;
mod order;
mod prompt;
mod refusal;
mod rules;
mod shape;
mod site;
mod thinking;
mod tools;
mod turn;
mod write;

pub(crate) use site::MessagesEndpoint;
