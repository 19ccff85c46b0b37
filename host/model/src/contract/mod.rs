//! The host's types for the plugin contract (`wit/v1`), one file a part of it. The JSON documents of the contract have their types in
//! `sdk/contract`, for both sides.

pub(crate) mod call;
pub(crate) mod charge;
pub(crate) mod direct;
pub(crate) mod facts;
pub(crate) mod form;
pub(crate) mod json;
pub(crate) mod names;
pub(crate) mod task_contract;
pub(crate) mod text;
