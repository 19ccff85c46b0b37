//! `gatehouse serve`: the services in start order, the public listeners, the banner, and the shutdown order.

mod banner;
mod checks;
mod error;
mod listeners;
mod memory;
mod open_store;
mod rest_of_start;
mod serve;
mod services;
mod shutdown;
mod takeover;

pub(crate) use checks::{check, try_database, warnings};
pub(crate) use error::ServeError;
pub(crate) use listeners::inherited_sockets;
pub(crate) use serve::{Options, serve};
pub(crate) use shutdown::Signals;
