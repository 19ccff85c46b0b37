//! Statements for operators: ledger rows of all, of one customer or of one key, newest first, with the balance after each.
//! Owns how rows are added up; reads the store.

use std::ops::Range;

use gatehouse_model::{Credits, Customer, CustomerId, KeyId, UnixMs};
use gatehouse_store::{StatementOf, StatementPage, StatementQuery, StatementRow, StatementTotals, Store};
use gatehouse_tasks::{EntryKind, JournalEntry};

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

/// Rows that are added up one by one, at most.
const MAX_SUMMED: u64 = 10_000;
/// Sums of days, by model, that are added up, at most.
const MAX_DAY_ROWS: usize = 100_000;
/// Rows that one step of a sum reads.
const PIECE: usize = 1_000;

/// What the rows of a statement come to, its limit left out. Balances are those of the statement; the ledger of all has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatementSums {
    /// How many rows; `None` for more than ten thousand.
    pub rows: Option<u64>,
    /// Paid in.
    pub deposited: Credits,
    /// Taken back, as a positive amount.
    pub withdrawn: Credits,
    /// Change of what is held; `None` for more than ten thousand rows of all customers together.
    pub held: Option<Credits>,
    /// Spent.
    pub spent: Credits,
    /// Before the first row.
    pub opening: Option<Credits>,
    /// After the last row.
    pub closing: Option<Credits>,
}

impl StatementSums {
    /// Adds a row; `None` for sums that cannot be counted.
    fn add(&mut self, entry: &JournalEntry) -> Option<()> {
        let moved = &entry.movement;
        self.held = Some(self.held?.checked_add(moved.reserved)?);
        self.spent = self.spent.checked_add(moved.spent)?;
        if entry.kind == EntryKind::Deposit {
            match moved.available {
                taken if taken.0 < 0 => self.withdrawn = self.withdrawn.checked_sub(taken)?,
                paid => self.deposited = self.deposited.checked_add(paid)?,
            }
        }
        Some(())
    }
}

/// Reads statements.
pub struct Statements {
    pub(in crate::service) store: Store,
}

impl Statements {
    /// A page of a statement. Balances are the key's where a key is asked for, otherwise the customer's.
    ///
    /// # Errors
    /// [`OperationError::NotFound`] for a customer or key that does not exist, or a key of another customer.
    pub async fn page(&self, request: StatementRequest) -> Result<StatementPage, OperationError> {
        let query = self.query(request).await?;
        Ok(self.store.statement(query).await?)
    }

    /// A customer, and the rows of its statement behind a position, oldest first.
    ///
    /// # Errors
    /// [`OperationError::NotFound`] for a customer that does not exist.
    pub async fn behind(
        &self,
        id: CustomerId,
        position: Option<u64>,
        limit: usize,
    ) -> Result<(Customer, Vec<StatementRow>), OperationError> {
        let found = self.store.statement_behind(id.clone(), position, limit).await?;
        found.ok_or_else(|| OperationError::NotFound(format!("no customer {id}")))
    }

    /// How many rows a statement has, its limit left out; one more than `max` stands for all that is beyond it.
    pub async fn rows(&self, request: StatementRequest, max: u64) -> Result<u64, OperationError> {
        let query = self.query(request).await?;
        let max = usize::try_from(max).unwrap_or(usize::MAX).saturating_add(1);
        Ok(self.store.count_statement(query, max).await? as u64)
    }

    /// What a statement comes to. Up to ten thousand rows are added up; more are summed up by the days that they are of.
    /// `None` where these are not whole days, or more than a hundred thousand days and models.
    pub async fn sums(&self, request: StatementRequest) -> Result<Option<StatementSums>, OperationError> {
        match self.rows(request.clone(), MAX_SUMMED).await? {
            0..=MAX_SUMMED => self.sums_of_rows(request).await.map(Some),
            _ => self.sums_of_days(request).await,
        }
    }

    pub(crate) async fn sums_of_rows(
        &self,
        request: StatementRequest,
    ) -> Result<StatementSums, OperationError> {
        let has_balances = request.customer.is_some() || request.key.is_some();
        let (mut rows, mut before, start) = (0, None, request.created.start);
        let mut sums = StatementSums { held: Some(Credits::ZERO), ..StatementSums::default() };
        loop {
            let page = self.page(StatementRequest { before, limit: PIECE, ..request.clone() }).await?;
            if let (0, Some(last)) = (rows, page.rows.first()) {
                sums.closing = last.after;
            }
            rows += page.rows.len() as u64;
            for row in &page.rows {
                sums.add(&row.entry).ok_or_else(too_much)?;
            }
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        if has_balances {
            let earlier = StatementRequest { created: UnixMs(0)..start, before: None, limit: 1, ..request };
            let last = self.page(earlier).await?.rows.into_iter().next();
            sums.opening = Some(last.and_then(|row| row.after).unwrap_or_default());
            sums.closing = sums.closing.or(sums.opening);
        }
        Ok(StatementSums { rows: Some(rows), ..sums })
    }

    pub(crate) async fn sums_of_days(
        &self,
        request: StatementRequest,
    ) -> Result<Option<StatementSums>, OperationError> {
        let Range { start, end } = request.created;
        let days = start.day()..end.day();
        if [start, end] != [UnixMs::of_day(days.start), UnixMs::of_day(days.end)] {
            return Ok(None);
        }
        let is_key = request.key.is_some();
        let of = self.query(request).await?.of;
        let found = self.store.statement_totals(of, days, MAX_DAY_ROWS).await?;
        let Some(StatementTotals { deposited, withdrawn, spent, opening, closing }) = found else {
            return Ok(None);
        };
        // What a balance changed by, and neither money that was moved nor money that was spent explains, is held.
        let held = |opening: Credits, closing: Credits| {
            let change = closing.checked_sub(opening)?;
            match is_key {
                true => change.checked_sub(spent),
                false => deposited.checked_sub(withdrawn)?.checked_sub(spent)?.checked_sub(change),
            }
        };
        let held = match opening.zip(closing) {
            Some((opening, closing)) => Some(held(opening, closing).ok_or_else(too_much)?),
            None => None,
        };
        Ok(Some(StatementSums { rows: None, deposited, withdrawn, held, spent, opening, closing }))
    }

    async fn query(&self, request: StatementRequest) -> Result<StatementQuery, OperationError> {
        let StatementRequest { customer, key, created, before, limit } = request;
        if let Some(customer) = &customer {
            let found = self.store.customer(customer).await?;
            found.ok_or_else(|| OperationError::NotFound(format!("no customer {customer}")))?;
        }
        if let Some(key) = &key {
            let found = self.store.key(key).await?;
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

fn too_much() -> OperationError {
    let message =
        "expected one customer or a shorter time: the sums of this one are larger than an amount can be";
    OperationError::InvalidField { field: "created_after".to_owned(), message: message.to_owned() }
}
