//! Versions of the price book and reports of deployments: their rows, and the pages that operators read.

pub(crate) mod read;
