//! The room as a whole, against a component that misbehaves on request (`tests/fixtures/unruly`).
#![allow(clippy::unwrap_used, unreachable_pub, missing_docs, reason = "tests")]

mod answers;
mod calls;
mod common;
mod fresh;
mod letting_in;
mod stages;
mod versions;
