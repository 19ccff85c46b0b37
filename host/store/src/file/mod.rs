//! What is asked of the file as a whole, beside its rows: whether its pages are as they were written, and whose pepper it knows.

pub(crate) mod pages;
pub(crate) mod pepper;
