//! The list of customers that have no credit: kept with their rows, checked by the doctor. Pages of it are in `pages`.

use gatehouse_model::Customer;
use gatehouse_tasks::Examination;
use redb::{ReadTransaction, ReadableTable as _, Table, WriteTransaction};

use crate::error::StoreError;
use crate::layout::{CUSTOMERS, Row, WITHOUT_CREDIT};
use crate::row::{decode, encode};
use crate::tables::each;

const ROWS: &str = "accounts";

/// Writes rows of customers, and the list where one gets onto it or off it. No other commit opens the list.
pub(crate) fn write<'c>(
    txn: &WriteTransaction,
    rows: &mut Table<'_, &'static str, Row>,
    customers: impl Iterator<Item = &'c Customer>,
) -> Result<(), StoreError> {
    let mut list = None;
    for customer in customers {
        let id = customer.id.0.as_str();
        let before = rows.insert(id, encode(ROWS, customer)?.as_slice())?;
        let before: Option<Customer> = before.map(|row| decode(ROWS, row.value())).transpose()?;
        let (was_listed, is_listed) =
            (before.is_some_and(|before| !before.has_credit()), !customer.has_credit());
        if was_listed == is_listed {
            continue;
        }
        let list = match &mut list {
            Some(open) => open,
            closed => closed.insert(txn.open_table(WITHOUT_CREDIT)?),
        };
        match is_listed {
            true => drop(list.insert(id, ())?),
            false => drop(list.remove(id)?),
        }
    }
    Ok(())
}

/// Each customer without credit is listed, and nothing else is.
pub(crate) fn check(txn: &ReadTransaction, examination: &mut Examination) -> Result<(), StoreError> {
    let (list, rows) = (txn.open_table(WITHOUT_CREDIT)?, txn.open_table(CUSTOMERS)?);
    each(txn, CUSTOMERS, |customer: Customer| {
        let id = customer.id.0.as_str();
        let wrong = match (customer.has_credit(), list.get(id)?.is_some()) {
            (false, false) => "the list of those without credit misses it",
            (true, true) => "it is listed as without credit, and has some",
            _ => return Ok(()),
        };
        examination.look_up(format!("customer {id}: {wrong}"));
        Ok(())
    })?;
    for listed in list.iter()? {
        let listed = listed?;
        let id = listed.0.value();
        if rows.get(id)?.is_none() {
            examination.look_up(format!("customer {id}: it is listed as without credit, and has no row"));
        }
    }
    Ok(())
}
