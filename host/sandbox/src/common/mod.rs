//! What every simulated provider shares: the HTTP server, its clock, settings, what a provider keeps, pictures and sample files.
//!
//! Knows no provider and no wire format.

pub(crate) mod clock;
pub(crate) mod connection;
pub(crate) mod faults;
pub(crate) mod kept;
pub(crate) mod links;
pub(crate) mod markers;
pub(crate) mod picture;
pub(crate) mod sample_media;
pub(crate) mod samples;
pub(crate) mod schema;
pub(crate) mod server;
pub(crate) mod settings;
pub(crate) mod shared;
