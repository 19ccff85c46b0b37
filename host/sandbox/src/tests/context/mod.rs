//! The context-image provider.

mod faults;
mod files;
mod poll;
mod record;
mod samples;
mod submit;
