//! What whole-system tests share: the real binary in its own data folder, an HTTP client, and a runtime.
//!
//! A [`House`] is a process like an operator's: started with a configuration file, asked over its real
//! listener, killed without mercy. Nothing here knows the gateway's insides.

mod client;
mod house;
mod line;

pub use client::{Answer, send, send_to, try_send};
pub use house::{Caller, House, Setup};
pub use line::Line;

use std::future::Future;

/// Runs a test on a multi-threaded runtime of its own.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(test)
}
