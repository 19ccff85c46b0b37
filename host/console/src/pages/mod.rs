//! One file a page or a kind of page.

pub(crate) mod backup;
pub(crate) mod failure;
pub(crate) mod home;
pub(crate) mod login;
pub(crate) mod playground;
pub(crate) mod plugins;
pub(crate) mod prices;
pub(crate) mod providers;
pub(crate) mod system;
pub(crate) mod tasks;
pub(crate) mod usage;
