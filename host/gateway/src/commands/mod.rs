//! The command line: its grammar, the operation each command means, its execution, and its output.

mod args;
mod artifact;
mod author;
mod cli;
mod confirm;
mod execute;
mod operation;
#[cfg(test)]
mod packaging;
mod packing;
mod print;
mod run;

pub(crate) use run::run;
