//! From a URL to an HTTP exchange: resolve, classify, connect, TLS. The only sockets of the crate are opened here. Calls no
//! other folder.

pub(crate) mod address;
pub(crate) mod connect;
pub(crate) mod dial;
pub(crate) mod exchange;
pub(crate) mod network;
pub(crate) mod origin;
pub(crate) mod proxy;
mod tunnel;
