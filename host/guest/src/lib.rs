//! What an instance of a plugin is given: a WASI 0.2 without access to anything, a log, and a memory limit.
//!
//! Owns the data of a store and the WASI imports, which are compiled here and nowhere else. Never compiles, starts or calls a
//! plugin: that is `runtime`'s, with which it shares wasmtime.

mod guest;
mod guest_log;
mod wasi;
mod wasi_linker;

pub use guest::{Guest, GuestLimits, OutOfMemory};
pub use guest_log::{GuestLog, LogSource, shorten};
pub use wasi_linker::{BlockedWait, link};
