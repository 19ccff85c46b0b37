//! The simulated world: the whole house from the driver down, its real rooms and the real plugins, in one thread
//! under a virtual clock, on a disk whose power can be cut, against a provider that keeps its own truth.
//!
//! `crash` cuts the power at every single operation of a handful of scenarios. `seeds` plays worlds made from
//! numbers, with accidents of every kind. After every commit the invariants of the reliability reference are
//! checked; the same seed gives the same log (I20). One seed again: `GATEHOUSE_SEED=<n>`; more or fewer of them:
//! `GATEHOUSE_SEEDS=<n>`. `splits` plays streams of text whose bytes come in every kind of pieces.

mod book;
mod clients;
mod clock;
mod crash;
mod customers;
mod house;
mod invariants;
mod objects;
mod panics;
mod plan;
mod power;
mod provider;
mod seeds;
mod shelf;
mod speaker;
mod splits;
mod talks;
mod truth;
mod wires;
mod world;
