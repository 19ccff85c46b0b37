//! What happens to the file before the store works: an interrupted creation is undone, an older schema is brought up to
//! date.

pub(crate) mod creation;
mod derived;
pub(crate) mod schema;
