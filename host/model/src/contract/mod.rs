//! The host's types for the plugin contract (`wit/v1`), one file a part of it.

pub(crate) mod about;
pub(crate) mod call;
pub(crate) mod charge;
pub(crate) mod direct;
pub(crate) mod edit;
pub(crate) mod facts;
pub(crate) mod failure;
pub(crate) mod form;
pub(crate) mod json;
pub(crate) mod names;
pub(crate) mod route;
pub(crate) mod task_contract;
pub(crate) mod text;
