//! What a rule returns, and the look-up that most of them begin with. Below every rule, so that `apply` can depend on the rules and
//! not the other way round.

use gatehouse_model::{Customer, CustomerId};

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

/// The customer of that id.
pub(crate) fn customer_of<B: LedgerStorage>(storage: &B, id: &CustomerId) -> Ruling<Customer, B> {
    storage.customer(id)?.ok_or_else(|| Stop::Rejected(Rejection::NoCustomer(id.clone())))
}
