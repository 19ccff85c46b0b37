//! The context-image provider from outside: through its sockets, by a client that knows nothing of its code.

mod client;
mod faults;
mod files;
mod poll;
mod record;
mod samples;
mod submit;
