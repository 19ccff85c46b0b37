//! The text providers from outside: through their sockets, by a client that knows nothing of their code.

mod chat_answers;
mod chat_rules;
mod client;
mod faults;
mod messages_answers;
mod messages_rules;
mod record;
