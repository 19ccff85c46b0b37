//! Avatar assets: files that the provider reviews once and keeps, in groups, on its control plane.

pub(crate) mod advance;
mod outcome;
pub(crate) mod params;
pub(crate) mod provider;
mod request;
pub(crate) mod state;
pub(crate) mod submit;
