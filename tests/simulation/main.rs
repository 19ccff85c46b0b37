//! The simulation: the system from the driver down, with its real crates and the real plugins, in one thread under
//! a virtual clock, on a disk that can crash, against a provider with a record of its own.
//!
//! - `scenarios/crashes` crashes the process at every single operation of a handful of scenarios.
//! - `scenarios/outages` takes the engine of the store away at every single access.
//! - `scenarios/seeds` runs plans made from numbers, with faults of every kind.
//! - `scenarios/fleet` has two gateways over one database, of which one is at work: crashes, pauses, and cuts of each.
//! - `splits` runs text streams whose bytes arrive in pieces of every kind.
//!
//! After every commit the oracle checks the invariants of the reliability reference. The same seed gives the same log
//! (I20). To run one seed again: `GATEHOUSE_SEED=<n>`; to run more or fewer: `GATEHOUSE_SEEDS=<n>`.

mod clients;
mod clock;
mod crash_switch;
mod customers;
mod engine_outage;
mod fleet;
mod member;
mod memory;
mod oracle;
mod plan;
mod plugins;
mod provider;
mod random;
mod record;
mod run;
mod scenarios;
mod simulation;
mod splits;
mod system;
