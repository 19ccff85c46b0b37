//! `POST /v1/responses` as a chat completion: its request becomes the body of one, and the completion or its chunks
//! become a response or its events.
//!
//! ```text
//! request -> Translated { body, echo }   body -> the chat family, over either protocol -> completion or chunks
//!                                        echo -> EventBuilder <- completion or chunks -> response or events
//! ```
//! So a model is reached, limited and billed exactly as by `/v1/chat/completions`. Earlier items come in the member
//! `history`, which the host writes; a client's own is overwritten there. Never loads or keeps anything.

mod echo;
mod input;
mod options;
mod output;
mod request;
mod sealed;
mod tool_choice;
mod tools;

pub use echo::Echo;
pub use output::{Reader, whole};
pub use request::{Target, Translated, translate};
