//! Tests of connections: TLS, HTTP/2, timers, limits, shutdown.

mod floods;
mod giving_way;
pub(super) mod http2;
mod limits;
mod shutdown;
mod standby;
mod timers;
mod tls;
