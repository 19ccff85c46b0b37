//! Customers: open, list, show, deposit, withdraw.

use gatehouse_model::{Credits, Customer, CustomerId, CustomerPolicy};
use gatehouse_store::RowPage;
use gatehouse_tasks::{Command, JournalEntry};

use super::admin_service::{AdminService, store_failed};
use crate::api::error::OperationError;

impl AdminService {
    /// Opens a customer without credit.
    ///
    /// # Errors
    /// An id that cannot be, or is taken; or the store's.
    pub async fn open_customer(&self, id: CustomerId) -> Result<Customer, OperationError> {
        let about = ("createCustomer", object(&id));
        let work = async move {
            check_customer_id(&id)?;
            self.send(Command::AddCustomer {
                id: id.clone(),
                policy: CustomerPolicy::default(),
                at: self.clock.now(),
            })
            .await?;
            self.show_customer(&id)
        };
        self.recorded(about, work).await
    }

    /// One customer.
    ///
    /// # Errors
    /// [`OperationError::NotFound`], or the store's.
    pub fn show_customer(&self, id: &CustomerId) -> Result<Customer, OperationError> {
        self.customer(id)?.ok_or_else(|| OperationError::NotFound(format!("no customer {id}")))
    }

    /// Pays in.
    ///
    /// # Errors
    /// An amount or a memo that cannot be, an unknown customer, or the store's.
    pub async fn deposit(
        &self,
        customer: CustomerId,
        amount: Credits,
        memo: String,
    ) -> Result<Customer, OperationError> {
        let about = ("deposit", object(&customer));
        let work = async move {
            check_amount(amount, &memo)?;
            self.book(customer, amount, memo).await
        };
        self.recorded(about, work).await
    }

    /// Takes back what is available.
    ///
    /// # Errors
    /// The same, and more than is available.
    pub async fn withdraw(
        &self,
        customer: CustomerId,
        amount: Credits,
        memo: String,
    ) -> Result<Customer, OperationError> {
        let about = ("withdraw", object(&customer));
        let work = async move {
            check_amount(amount, &memo)?;
            let negative =
                amount.checked_neg().ok_or_else(|| invalid("amount: it does not fit".to_owned()))?;
            self.book(customer, negative, memo).await
        };
        self.recorded(about, work).await
    }

    /// A page of customers by id, after that one.
    ///
    /// # Errors
    /// The store's.
    pub async fn customers_page(
        &self,
        after: Option<CustomerId>,
        limit: usize,
    ) -> Result<RowPage<Customer, CustomerId>, OperationError> {
        self.store.list_customers(after, limit).await.map_err(store_failed)
    }

    /// A page of the customers that have no credit, by id, after that one. Reads these alone.
    ///
    /// # Errors
    /// The store's.
    pub async fn customers_without_credit(
        &self,
        after: Option<CustomerId>,
        limit: usize,
    ) -> Result<RowPage<Customer, CustomerId>, OperationError> {
        self.store.customers_without_credit(after, limit).await.map_err(store_failed)
    }

    /// How many customers have no credit.
    ///
    /// # Errors
    /// The store's.
    pub fn count_without_credit(&self) -> Result<u64, OperationError> {
        self.store.count_without_credit().map_err(store_failed)
    }

    /// One customer.
    ///
    /// # Errors
    /// The store's.
    pub fn customer(&self, id: &CustomerId) -> Result<Option<Customer>, OperationError> {
        self.store.customer(id).map_err(store_failed)
    }

    /// The row of the ledger of that number.
    ///
    /// # Errors
    /// The store's.
    pub fn journal_entry(&self, number: u64) -> Result<Option<JournalEntry>, OperationError> {
        self.store.journal_entry(number).map_err(store_failed)
    }

    async fn book(
        &self,
        customer: CustomerId,
        amount: Credits,
        memo: String,
    ) -> Result<Customer, OperationError> {
        let deposit = Command::Deposit { customer: customer.clone(), amount, memo, at: self.clock.now() };
        self.send(deposit).await?;
        self.show_customer(&customer)
    }
}

fn object(id: &CustomerId) -> String {
    format!("customers/{id}")
}

pub(crate) fn check_amount(amount: Credits, memo: &str) -> Result<(), OperationError> {
    if amount <= Credits::ZERO {
        return Err(invalid(format!("amount: expected more than zero credits, not {amount}")));
    }
    if memo.len() > 200 {
        return Err(invalid("memo: expected at most 200 bytes".to_owned()));
    }
    Ok(())
}

/// A customer's id is short and never needs quoting in a shell.
pub(crate) fn check_customer_id(id: &CustomerId) -> Result<(), OperationError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    if id.0.is_empty() || id.0.len() > 64 || !id.0.chars().all(plain) {
        return Err(invalid(format!("account {:?}: expected 1 to 64 letters, digits and - _ . @", id.0)));
    }
    Ok(())
}

fn invalid(text: String) -> OperationError {
    OperationError::Invalid(text)
}
