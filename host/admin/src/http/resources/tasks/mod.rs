//! `/tasks`: tasks of all customers, and what each of them did.

mod steps;
mod task;

use crate::http::route::Route;

pub(super) fn routes() -> Vec<Route> {
    task::routes().into_iter().chain(steps::routes()).collect()
}
