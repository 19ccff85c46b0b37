//! The command line: its grammar, the requests that each command means, who answers them, and its output.

mod api;
mod args;
mod author;
mod cli;
mod offer;
#[cfg(test)]
mod packaging;
mod perform;
mod print;
mod run;

pub(crate) use run::run;
