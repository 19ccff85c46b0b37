//! The sums of usage: kept by hour and by day, for every key, for every customer and for all together.

pub(crate) mod check;
pub(crate) mod read;
