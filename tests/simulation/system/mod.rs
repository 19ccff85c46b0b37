//! The system under test: the real crates from the driver down on a simulated disk, network and object store.

pub(crate) mod media_objects;
pub(crate) mod network;
pub(crate) mod under_test;
