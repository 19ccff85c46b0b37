//! One task of any customer, its results, and what an operator does with it.

pub(crate) mod media;
pub(crate) mod one;
mod ruling;
mod timeline;
