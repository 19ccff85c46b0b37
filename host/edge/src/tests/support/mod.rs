//! Doubles for tests: a manual clock, a scripted backend, a raw HTTP/1 client.

pub(super) mod backend;
pub(super) mod client;
pub(super) mod clock;
