//! The resources of the API, one file each. A file has its routes, its handlers, and the types of what goes in and out;
//! `host/admin/README.md` says how to add one.

mod audit;
mod customers;
mod keys;
mod ledger;
mod logs;
mod plugins;
mod prices;
mod providers;
mod system;
mod tasks;
mod usage;
mod webhooks;

use super::route::Route;
pub use keys::key_limits;

/// Every route but the document's own.
pub(crate) fn routes() -> Vec<Route> {
    [
        customers::routes(),
        keys::routes(),
        usage::routes(),
        ledger::routes(),
        tasks::routes(),
        prices::routes(),
        providers::routes(),
        plugins::routes(),
        webhooks::routes(),
        audit::routes(),
        logs::routes(),
        system::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
