//! What several pages are made of: the frame around every page, tables, forms, dialogs, states.

pub(crate) mod elements;
pub(crate) mod live;
pub(crate) mod shell;
