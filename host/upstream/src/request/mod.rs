//! A plugin's call as an HTTP request: target, headers, credential, body with blobs. Calls `auth` and `client`, and reads what
//! `config` has checked.

pub(crate) mod body;
pub(crate) mod build;
pub(crate) mod splice;
