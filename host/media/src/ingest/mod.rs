//! Files that clients embed in requests: found, decoded, and taken out of the JSON.

pub(crate) mod extract;
pub(crate) mod scan;
