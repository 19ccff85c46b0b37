//! The simulated providers: a fresh install and the tests run against them.
//!
//! Owns loopback listeners that speak the providers' real wire protocols strictly. They refuse what the real ones
//! refuse, with the same status codes and bodies, make real files, expire links, and fail on demand by markers in
//! the prompt. Never opens an outgoing socket: the name of a host says whether a link can be fetched (`common::links`).
//! Never binds anything but 127.0.0.1, and shares no code with a plugin or a crate of the gateway: an error in one must
//! not be repeated by the other.
//!
//! One module a provider: [`ark`] (Seedance 2.0 and its library of assets), [`context`] (FLUX.1 Kontext), [`dashscope`]
//! (Wan videos), [`imagine`] (xAI's image API), [`midjourney`] (a midjourney-proxy), [`veo`] (Veo 3.1, on
//! Vertex AI), [`messages`] (Anthropic's Messages API), [`chat`] (OpenAI's chat completions) and [`gemini`]
//! (Google's generateContent). [`text`] holds what the text providers share; `common` what all share.
//! [`scripted`] is one whose answers its caller gives.

pub mod ark;
pub mod chat;
mod common;
pub mod context;
pub mod dashscope;
pub mod gemini;
pub mod imagine;
pub mod messages;
pub mod midjourney;
mod sandbox;
pub mod scripted;
pub mod text;
pub mod veo;

pub use ark::ArkAddresses;
pub use common::clock::Now;
pub use common::faults::{Fault, Target};
pub use common::markers::{Argument, MarkerInfo};
pub use common::settings::{Ports, Settings};
pub use context::ContextAddresses;
pub use dashscope::DashscopeAddresses;
pub use imagine::ImagineAddresses;
pub use midjourney::MidjourneyAddresses;
pub use sandbox::{Addresses, Sandbox};
pub use text::TextAddresses;
pub use veo::VeoAddresses;

#[cfg(test)]
mod tests;
