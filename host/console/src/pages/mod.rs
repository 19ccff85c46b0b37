//! One file a page or a kind of page.

pub(crate) mod audit;
pub(crate) mod customers;
pub(crate) mod failure;
pub(crate) mod home;
pub(crate) mod keys;
pub(crate) mod login;
pub(crate) mod logs;
pub(crate) mod playground;
pub(crate) mod plugins;
pub(crate) mod prices;
pub(crate) mod providers;
mod recipes;
pub(crate) mod statements;
pub(crate) mod system;
pub(crate) mod tasks;
pub(crate) mod usage;
pub(crate) mod webhooks;
