//! The binary `gatehouse`: configuration, wiring and commands. What a request runs stands in other crates: the
//! release build does not optimize this one.
//!
//! Owns the environment, the data folder's layout, the start order and the shutdown order. Never decides anything about a request, a
//! task, money or a plugin: it starts the services that do, passes them their configuration, and stops them.
//!
//! ```text
//! start: config -> logs -> secrets -> data folder -> store -> runtime -> driver -> edge -> admin -> banner
//! stop:  lame duck -> edge drains -> driver stops -> admin closes -> store closes, each within its own time limit
//! ```

mod acme;
mod backup;
mod commands;
mod config;
mod data_folder;
mod descriptors;
mod environment;
mod plugins;
mod price_list;
mod privacy;
mod reload;
mod sampled;
mod sandbox_mode;
mod secrets;
mod server;
mod service_checks;
mod terminal;

fn main() -> std::process::ExitCode {
    commands::run()
}
