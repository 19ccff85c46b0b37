//! redb below the rows of commands: what is fetched, and what a commit writes. The tables by which rows are found besides their
//! keys follow from each row before and after, here and nowhere else. Knows no command and no query.

pub(crate) mod ledger;
pub(crate) mod rows;
pub(crate) mod tasks;
pub(crate) mod usage;
pub(crate) mod write;
