//! The kinds of objects that the console shows, one description each.

pub(crate) mod accounts;
pub(crate) mod customers;
pub(crate) mod keys;
pub(crate) mod logs;
pub(crate) mod plugins;
pub(crate) mod prices;
pub(crate) mod statements;
pub(crate) mod tasks;
pub(crate) mod webhooks;

use crate::resource::Resource;

/// Every kind with pages made of its description. Deliveries, versions and accounts stand on pages of others; what is done to
/// them has addresses of its own.
pub(crate) static ALL: [&Resource; 13] = [
    &keys::KEYS,
    &customers::CUSTOMERS,
    &webhooks::WEBHOOKS,
    &webhooks::DELIVERIES,
    &logs::AUDIT,
    &plugins::DEPLOYMENTS,
    &prices::BOOKS,
    &plugins::VERSIONS,
    &plugins::FAMILIES,
    &accounts::ACCOUNTS,
    &tasks::TASKS,
    &statements::LEDGER,
    &logs::REQUESTS,
];
