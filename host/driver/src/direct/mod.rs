//! Requests that a family answers while the client waits, with what one call returned: a sound, a file, a list.
//!
//! ```text
//! model -> prepare (plugin) -> hold -> account -> call -> answer (plugin) -> settle -> body
//!              |                          ^-- another account    |
//!              `-> body, without a call                          `-> pieces, as they come -> client; settled at their end
//! ```
//! What is held is what the family charges; an answer that passes pays it whole, any other may settle for less. A provider that
//! breaks off is paid by nobody's credits; a client that leaves after the provider was asked pays, and so does one whose answer
//! passes for longer than a stream may. A surface that reads holds nothing and names no model: its family is that of its route.
//! With an `Idempotency-Key` an answer is made to its end without its client, and a repetition gets it (`kept_answers`).
//! Never frames an answer and never writes an error: `edge` does.

mod api;
mod attempt;
mod hold;
mod pump;
mod request;

pub use api::{AnswerPieces, AnswerRequest, AnswerResponse, WholeAnswer};
pub use request::Answers;
