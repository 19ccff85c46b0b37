//! Hostile plugins in the whole gateway: installed through the admin API, called through the real listener, beside
//! honest requests that must all succeed.
//!
//! The plugin is one fixture (`tests/fixtures/puppet`). A script in the request decides what it does, and its claims are
//! written into its component; so every misbehaviour is a row of data here. Its provider keeps every byte it receives.
//! Whatever a plugin tries harms its own request only: with a reason for the client, another for the operator, and no
//! secret in either.

mod calls;
mod canaries;
mod cancel;
mod edits;
mod fairness;
mod follow_ups;
mod load;
mod migrate;
mod scene;
mod secrets;
mod settles;
mod steps;
