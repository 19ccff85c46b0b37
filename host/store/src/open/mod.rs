//! What happens to the file before the store works: an interrupted creation is undone, its pages and its pepper are
//! checked, an older schema is brought up to date.

pub(crate) mod creation;
mod derived;
mod pages;
pub(crate) mod pepper;
pub(crate) mod schema;
