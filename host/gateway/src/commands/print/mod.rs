//! What a command prints: results for people or as JSON.

mod configuration;
mod deployment;
mod key;
mod price;
mod provider;
mod result;
mod steps;
mod table;
mod task;
mod webhook;

pub(crate) use result::{json, stages, text};
