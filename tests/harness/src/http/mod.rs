//! The HTTP/1 client of tests. A [`Connection`] writes what it is given and reads answers byte by byte; requests of
//! one line stand on it. It follows no redirect, repeats nothing, and corrects nothing.

mod client;
mod connection;
mod persistent;
mod response;

pub use client::{send, send_to, try_send};
pub use connection::Connection;
pub use persistent::PersistentClient;
pub use response::{End, Response};

/// What a connection says when there is no answer.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
