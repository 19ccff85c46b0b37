//! `/price-books`: the prices in effect, what a request would cost, and the versions that came before.

mod active;
mod versions;

use crate::http::route::Route;

pub(super) fn routes() -> Vec<Route> {
    [active::routes(), versions::routes()].into_iter().flatten().collect()
}
