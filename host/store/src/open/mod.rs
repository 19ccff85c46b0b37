//! What happens to the file before the store works: it is opened or made, an interrupted creation is undone, another schema is
//! refused.

pub(crate) mod creation;
pub(crate) mod database;
pub(crate) mod schema;
