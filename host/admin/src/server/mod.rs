//! The admin listener: operations behind the token; health and metrics without it.
//!
//! HTTP/1.1 only. Its connections have the timers and the end of the public listeners' (`gatehouse-net`). What
//! needs no token can never keep out what has one: the oldest connection without an operation gives way to a new
//! one.

mod connections;
mod console;
mod handler;
mod host_check;
mod listener;
mod page_server;
mod waiting;

pub use console::{Access, Console, ConsoleRefusal, PageCaller, admit};
pub use handler::{MetricsPage, Probes};
pub use listener::AdminServer;
pub use waiting::{STANDBY, Waiting, WaitingServer};
