//! The command line: its grammar, the requests that each command means, who answers them, and its output.

mod api;
mod args;
mod artifact;
mod author;
mod backup;
mod cli;
mod fleet;
mod offer;
mod packing;
mod perform;
mod price_import;
mod print;
mod run;
mod shell;
mod store;
mod verify;

pub(crate) use run::run;
