//! The two text providers.

mod chat_answers;
mod chat_rules;
mod embeddings;
mod faults;
mod messages_answers;
mod messages_rules;
mod record;
mod wire;
