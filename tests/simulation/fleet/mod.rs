//! Two gateways over one database: each a process with a runtime and a clock of its own, which run in turn for some milliseconds. One is at
//! work, the other waits for its place. A process can be killed at any operation, stopped for a while with the time going on, or cut off
//! from the database. What they run from the sessions of the store up is what runs in a gateway.

pub(crate) mod faults;
pub(crate) mod gateway;
pub(crate) mod run;
