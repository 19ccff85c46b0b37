//! A gateway as an operator runs it: a process with a configuration file and a data folder.

mod caller;
mod compiled_code;
mod operator;
mod process;
mod setup;

pub use caller::{Caller, message_of, with};
pub use compiled_code::{CompiledCode, SharedCode, code_cache, user_cache};
pub use process::Gateway;
pub use setup::Setup;
