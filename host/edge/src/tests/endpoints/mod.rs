//! Tests of the endpoints as clients meet them.

mod others;
mod responses;
mod submissions;
mod tasks;
mod text;
mod usage;
