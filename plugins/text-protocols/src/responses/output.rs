//! The answer: completions and their chunks as a response object and its events.

mod chunks;
mod event_builder;
mod item;
mod item_events;

pub use chunks::{Reader, whole};
