//! The gateway as a black box: the real binary, its real listeners, strict simulated providers. One module a subject.
//!
//! One binary for all of them: linked once, and one test waits while another works. `cargo test -p gatehouse --test
//! blackbox api::` runs one module, with another name one test.

mod api;
mod authors;
mod clients;
mod command_line;
mod console;
mod deploy;
mod faults;
mod gateways;
mod hostile;
mod http;
mod journey;
mod lifecycle;
mod packages;
mod packaging;
mod public;
mod routes;
mod text;
mod video;
