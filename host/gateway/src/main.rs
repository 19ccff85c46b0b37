//! The binary `gatehouse`: configuration, wiring, telemetry and commands.
//!
//! Owns the only real clock and random source, the environment, the data folder's layout, the start order and
//! the shutdown order. Never decides anything about a request, a task, money or a plugin: it starts the services
//! that do, passes them their configuration, and stops them.
//!
//! ```text
//! start: config -> telemetry -> secrets -> data folder -> store -> runtime -> driver -> edge -> admin -> banner
//! stop:  lame duck -> edge drains -> driver stops -> admin closes -> store closes, each within its own time limit
//! ```

mod acme;
mod backup;
mod commands;
mod config;
mod data_folder;
mod descriptors;
mod environment;
mod exit;
mod plugins;
mod price_list;
mod privacy;
mod reload;
mod sandbox_mode;
mod secrets;
mod server;
mod system;
mod telemetry;
mod terminal;

/// Gives memory back after a peak, by threads of its own; the C library's keeps nearly all of it (tests/bench/README.md).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    commands::run()
}
