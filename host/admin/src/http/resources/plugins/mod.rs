//! `/plugins`, `/families` and `/deployments`: versions of plugins, their deployment, and the history of deployments.

mod deployments;
mod versions;

use crate::http::route::Route;

pub(super) fn routes() -> Vec<Route> {
    [versions::routes(), deployments::routes()].into_iter().flatten().collect()
}
