//! Files that clients embed in requests: found, decoded, and taken out of the JSON. And links that no provider is handed.

pub(crate) mod extract;
pub(crate) mod linked;
pub(crate) mod scan;
