//! Tasks of all customers for operators, and the log of what each of them did.

mod steps;
mod task;

pub use task::TaskDetails;
