//! Tasks: what each one is and how far it is, the table of all of them, and their records as clients read them.

pub(crate) mod shown;
pub(crate) mod table;
pub(crate) mod task;
