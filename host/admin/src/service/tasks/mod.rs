//! Tasks of all customers for operators, and the log of what each of them did.

mod reconcile;
mod task;

pub(crate) use reconcile::changes as ruling_changes;
pub use task::TaskDetails;
