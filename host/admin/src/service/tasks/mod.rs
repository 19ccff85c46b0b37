//! Tasks of all customers for operators, and the log of what each of them did.

mod reconcile;
mod task;

pub(super) use reconcile::Rulings;
pub(crate) use reconcile::changes as ruling_changes;
pub use task::TaskDetails;
pub(super) use task::Tasks;
