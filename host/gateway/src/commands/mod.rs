//! The command line: its grammar, the operation each command means, its execution, and its output.

mod author;
mod author_args;
mod cli;
mod confirm;
mod execute;
mod key_args;
mod operation;
#[cfg(test)]
mod packaging;
mod price_args;
mod print;
mod run;
mod task_args;
mod values;
mod webhook_args;

pub(crate) use run::run;
