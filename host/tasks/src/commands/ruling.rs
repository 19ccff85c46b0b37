//! What a rule returns. Below every rule, so that `apply` can depend on the rules and not the other way round.

use crate::commands::rejection::Rejection;
use crate::storage::ledger_storage::LedgerStorage;

/// Why a rule stopped.
pub(crate) enum Stop<E> {
    /// Nothing was changed.
    Rejected(Rejection),
    /// The storage cannot be read or written.
    Broken(E),
}

impl<E> From<E> for Stop<E> {
    fn from(error: E) -> Self {
        Self::Broken(error)
    }
}

/// What a rule decides.
pub(crate) type Ruling<T, B> = Result<T, Stop<<B as LedgerStorage>::Error>>;
