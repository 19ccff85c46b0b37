//! `/tasks`: tasks of all customers, and what each of them did.

mod reconcile;
mod steps;
mod task;

use crate::http::route::Route;

pub(super) fn routes() -> Vec<Route> {
    task::routes().into_iter().chain(reconcile::routes()).chain(steps::routes()).collect()
}
