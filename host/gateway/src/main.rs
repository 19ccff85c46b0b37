//! The binary `gatehouse`: configuration, wiring, telemetry and commands.
//!
//! Owns the only real clock and random source, the environment, the data folder's layout, the start order and
//! the shutdown order. Never decides anything about a request, a task, money or a plugin: it starts the
//! rooms that do, gives them what they need, and stops them again.
//!
//! ```text
//! config -> telemetry -> data folder -> store -> families -> upstream, media -> driver -> edge -> admin -> banner
//! stop:  edge leaves -> edge drains -> driver stops -> admin closes -> store closes
//! ```

mod ask;
mod banner;
mod cli;
mod config;
mod data;
mod embedded;
mod environment;
mod exit;
mod incoming;
mod inherited;
mod operations;
mod print;
mod real;
mod rooms;
mod run;
mod sandbox;
mod secrets;
mod serve;
mod shutdown;
mod signing;
mod telemetry;
mod tls;

pub(crate) use embedded::Embedded;
pub(crate) use real::{SystemClock, SystemSeed};

fn main() -> std::process::ExitCode {
    run::run()
}
