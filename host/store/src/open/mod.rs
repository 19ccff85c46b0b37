//! What happens to the file before the store works: an interrupted creation is undone, another schema is refused.

pub(crate) mod creation;
pub(crate) mod schema;
