//! Tests of connections: TLS, HTTP/2, timers, limits, shutdown.

mod http2;
mod limits;
mod shutdown;
mod timers;
mod tls;
