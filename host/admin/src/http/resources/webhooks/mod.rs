//! `/webhooks` and `/deliveries`: who is told of the ends of a customer's tasks, and what became of it.

mod deliveries;
mod endpoints;

use crate::http::route::Route;

pub(super) fn routes() -> Vec<Route> {
    [endpoints::routes(), deliveries::routes()].into_iter().flatten().collect()
}
