//! Certificates by themselves (`[server.acme]`): the account at an authority, an order when two thirds of a certificate's time
//! are over, and what is kept in the data folder. The protocol is that of `instant-acme`, over connections of `host/upstream`; what
//! an authority sees while it validates a name is shown by the listeners themselves (`host/net/src/tls/challenges.rs`).
//!
//! A start waits for no authority: it serves what is kept, and orders what is missing once the listeners answer. What goes wrong
//! is logged in the authority's words and tried again, and whatever is in use stays. Readiness does not depend on it either: a
//! balancer that sent nothing to this gateway would keep the authority out.

mod keeper;
mod order;

pub(crate) use keeper::{Acme, external_account};
