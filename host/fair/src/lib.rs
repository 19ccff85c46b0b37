//! Permits for what only so many may do at once, shared fairly by their owners. Every listener shares its handshakes with
//! them (`net`), the public one work on long bodies (`edge`), and what leaves the fetches of clients' links (`upstream`).
//!
//! Never knows what a permit is for. No I/O and no clock. Accounts of providers have a queue of their own (`upstream`),
//! because their permits have priorities, rates and breakers.

mod permits;

pub use permits::{FairPermit, FairPermits};
