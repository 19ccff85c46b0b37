//! One loaded version of a family and its calls, on the thread of the caller: the size of each input and the rules of each answer
//! are checked here. Knows the contract (`abi_v1`), instances (`exec`) and what its operator set (`config`); never which version
//! serves, never a queue, never money.

pub(crate) mod direct;
pub(crate) mod loaded;
pub(crate) mod tasks;
pub(crate) mod text;
