//! Statements for operators: ledger rows of all, of one customer or of one key, newest first, with the balance after each.

use std::ops::Range;

use gatehouse_model::{CustomerId, KeyId, UnixMs};
use gatehouse_store::{StatementOf, StatementPage, StatementQuery};

use super::super::admin_service::{AdminService, store_failed};
use crate::api::error::OperationError;

/// Which rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementRequest {
    /// Only this customer's.
    pub customer: Option<CustomerId>,
    /// Only this key's.
    pub key: Option<KeyId>,
    /// Only rows of this time.
    pub created: Range<UnixMs>,
    /// Where the page begins: `next` of the one before.
    pub before: Option<u64>,
    /// At most this many.
    pub limit: usize,
}

impl AdminService {
    /// A page of a statement. Balances are the key's where a key is asked for, otherwise the customer's.
    ///
    /// # Errors
    /// [`OperationError::NotFound`] for a customer or key that does not exist, or a key of another customer.
    pub async fn statement(&self, request: StatementRequest) -> Result<StatementPage, OperationError> {
        let query = self.statement_query(request)?;
        self.store.statement(query).await.map_err(store_failed)
    }

    /// How many rows a statement has, its limit left out; one more than `max` stands for all that is beyond it.
    ///
    /// # Errors
    /// As for a page.
    pub async fn statement_rows(&self, request: StatementRequest, max: u64) -> Result<u64, OperationError> {
        let query = self.statement_query(request)?;
        let max = usize::try_from(max).unwrap_or(usize::MAX).saturating_add(1);
        Ok(self.store.count_statement(query, max).await.map_err(store_failed)? as u64)
    }

    fn statement_query(&self, request: StatementRequest) -> Result<StatementQuery, OperationError> {
        let StatementRequest { customer, key, created, before, limit } = request;
        if let Some(customer) = &customer {
            let found = self.store.customer(customer).map_err(store_failed)?;
            found.ok_or_else(|| OperationError::NotFound(format!("no customer {customer}")))?;
        }
        if let Some(key) = &key {
            let found = self.store.key(key).map_err(store_failed)?;
            let found =
                found.filter(|found| customer.as_ref().is_none_or(|customer| found.customer == *customer));
            found.ok_or_else(|| OperationError::NotFound(format!("no key {key}")))?;
        }
        let of = match (key, customer) {
            (Some(key), _) => StatementOf::Key(key),
            (None, Some(customer)) => StatementOf::Customer(customer),
            (None, None) => StatementOf::All,
        };
        Ok(StatementQuery { of, created, before, limit })
    }
}
