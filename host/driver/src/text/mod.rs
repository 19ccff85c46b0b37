//! Text: a request that is answered while its client waits, whole or as a stream.
//!
//! ```text
//! model -> prepare (plugin) -> hold -> account -> call -> answer (plugin) -> settle -> body
//!             ^                     ^-- another account, while the client has nothing      |
//!             `-- another target of the model, the same            `-> pump: events -> relay (plugin) -> client
//! ```
//! The hold is an upper estimate. The settlement is what the provider counted, once, priced by the host: a plugin
//! reports figures and never prices them. What it is above the hold is taken from what the customer has left. A client that
//! leaves its stream pays for what there was of it (`left`); a whole answer is waited for. A client that asked for a stream
//! gets its head after a while even if no account has answered yet: the host goes on trying accounts, and a failure is the
//! stream's last event. No answer waits for the disk: a crash ends the requests in progress, and may lose the charges of the last moment
//! before it, always in the customer's favour. A response (`history`) is the exception: it is kept before its end leaves.
//! A provider whose protocol no text family speaks has a `dialect` between it and the text family.
//! Embeddings take the same way: a body comes back, and only the input is paid.
//! Never frames an event and never writes an error: `edge` does.

mod api;
pub(crate) mod attempt;
mod conversation;
mod dialect;
mod dry_run;
mod estimates;
mod history;
pub(crate) mod hold;
mod left;
mod opening;
mod pump;
pub(crate) mod request;
pub(crate) mod translation;
mod tried_targets;

pub use api::{CompletionRequest, CompletionResponse, TextError, TextStream};
pub use history::{Conversations, KeptResponse};
pub use request::Texts;
