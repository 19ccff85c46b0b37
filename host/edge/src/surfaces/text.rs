//! The text endpoints while no installed family offers text: they exist, and nothing stands behind them.

use crate::envelope::{Kind, Problem};
use crate::routes::Entry;

/// No model can be right here yet; the client reads that as "no such model", which is what it is.
pub(super) fn not_served(entry: &Entry) -> Problem {
    let message =
        format!("no model of this gateway serves {}; GET /v1/models lists what it has", entry.pattern);
    Problem::new(Kind::ModelNotFound, message)
}

/// Spec "Endpoint list": not implemented, 404.
pub(super) fn no_counting() -> Problem {
    Problem::new(Kind::NotFound, "counting tokens is not offered here")
}
