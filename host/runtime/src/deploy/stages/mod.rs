//! The stages of a deployment, one file each: what it checks, and why it refuses.

pub(crate) mod admit;
pub(crate) mod compile;
pub(crate) mod compile_process;
pub(crate) mod describe;
pub(crate) mod document;
pub(crate) mod fit;
pub(crate) mod inspect;
pub(crate) mod link;
pub(crate) mod rehearse;
pub(crate) mod removal;
pub(crate) mod routes;
pub(crate) mod self_test;
