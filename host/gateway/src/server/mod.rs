//! `gatehouse serve`: the services in start order, the public listeners, the banner, and the shutdown order.

mod banner;
mod checks;
mod compile_ahead;
mod error;
mod inherited_sockets;
mod listeners;
mod memory;
mod open_store;
mod public_api;
mod rest_of_start;
mod self_signed;
mod serve;
mod services;
mod shutdown;
mod takeover;
mod waiting_page;

pub(crate) use checks::{check, try_database, warnings};
pub(crate) use error::ServeError;
pub(crate) use inherited_sockets::inherited_sockets;
pub(crate) use serve::{Options, serve};
pub(crate) use shutdown::Signals;
