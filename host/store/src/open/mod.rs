//! What happens to the file before the store works: an interrupted creation is undone, its pages and its pepper are
//! checked, another schema is refused.

pub(crate) mod creation;
mod pages;
pub(crate) mod pepper;
pub(crate) mod schema;
