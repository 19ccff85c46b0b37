//! `POST /v1/responses` as a chat completion: its request becomes the body of one, and the completion or its chunks
//! become a response or its events.
//!
//! ```text
//! request -> Translated { body, echo }   body -> the chat family, over either protocol -> completion or chunks
//!                                        echo -> EventBuilder <- completion or chunks -> response or events
//! ```
//! So a model is reached, limited and billed exactly as by `/v1/chat/completions`. Earlier items come in the member
//! `history`, which the host writes; a client's own is overwritten there. Never loads or keeps anything.

mod chunks;
mod conversation;
mod echo;
mod entry;
mod event_builder;
mod item;
mod items;
mod options;
mod parts;
mod request;
mod sealed;
mod target;
mod tool_choice;
mod tools;

pub use chunks::{Reader, whole};
pub use echo::Echo;
pub use request::{Translated, translate};
pub use target::Target;
