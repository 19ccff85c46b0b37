//! A plugin's call as an HTTP request: target, headers, credential, body with blobs.

pub(crate) mod blobs;
pub(crate) mod body;
pub(crate) mod build;
pub(crate) mod splice;
