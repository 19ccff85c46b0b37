//! The plugin service as a whole, against a component that misbehaves on request (`tests/fixtures/unruly`).
#![allow(clippy::unwrap_used, unreachable_pub, missing_docs, reason = "tests")]

mod agreement;
mod answer_rules;
mod author_mistakes;
mod calls;
mod canary;
pub(crate) mod common;
mod configuration;
mod deployment;
mod disabled;
mod frozen;
mod frozen_kinds;
mod limits_in_wit;
mod optional;
mod removal;
pub(crate) mod stages;
mod versions;
