//! One HTTP connection of any listener of the gateway: what hyper leaves to its user.
//!
//! Owns the timers of a connection (a head that never ends, a response that is never taken, no request at all),
//! the facts about its framing that hyper does not report, and its end in a shutdown. Never accepts, never speaks
//! TLS, never knows a request's route, key or answer. The public listeners (`edge`) and the admin listener
//! (`admin`) serve their connections with it, so both keep the same limits.
//!
//! ```text
//! accepted stream -> Transport (timers, framing) -> hyper -> the listener's own service
//! ```

mod activity;
mod connection;
mod framing;
mod shutdown;
mod transport;

pub use activity::{Activity, RequestActivity};
pub use connection::{ConnectionLimits, ConnectionServer, Observed, Protocol};
pub use shutdown::{ShutdownPhase, reached};
pub use transport::ConnectionFlags;
