//! The simulated providers: what a fresh install runs against, and what tests call "the outside".
//!
//! Owns loopback listeners that speak the providers' real wire protocols strictly: they refuse what the real
//! ones refuse, with the same status codes and bodies, make real files, let links die, and fail on demand by
//! markers in the prompt. Never opens an outgoing socket, never binds anything but 127.0.0.1, and shares no
//! code with a plugin or a room of the gateway: a mistake in one must not be repeated by the other.
//!
//! One module a provider: [`context`] (FLUX.1 Kontext), [`messages`] (Anthropic's Messages API) and [`chat`]
//! (OpenAI's chat completions); what the two text providers share is in [`text`]. All share [`Settings`], the HTTP
//! server, the picture maker and the sample files.

pub mod chat;
mod clock;
pub mod context;
mod line;
pub mod messages;
mod pixels;
mod samples;
mod sandbox;
mod server;
mod settings;
pub mod text;

pub use clock::Now;
pub use context::ContextAddresses;
pub use sandbox::Sandbox;
pub use settings::{Ports, Settings};
pub use text::TextAddresses;
