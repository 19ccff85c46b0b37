//! Embeddings: the other endpoint of the simulated chat provider. Vectors of unit length; texts that share words are nearer
//! to each other than texts that do not.
//!
//! Checks a request as OpenAI does, in its words, and writes the answer. Keys, markers, delivery and the record are those
//! of the chat completions.

mod request;
mod vector;

pub(super) use request::check;
pub(super) use vector::write;
