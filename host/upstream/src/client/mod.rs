//! From a URL to an HTTP exchange: resolve, classify, connect, TLS. The only sockets of the crate are opened here.

pub(crate) mod address;
pub(crate) mod connect;
pub(crate) mod connection;
pub(crate) mod dial;
pub(crate) mod exchange;
pub(crate) mod resolve;
pub(crate) mod tls;
mod tunnel;
