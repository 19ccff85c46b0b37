//! Compares the list of customers that have no credit with their rows, for the doctor. Pages of it are in `pages`.

use gatehouse_model::Customer;
use gatehouse_tasks::Examination;
use redb::{ReadTransaction, ReadableTable as _};

use crate::error::StoreError;
use crate::layout::{CUSTOMERS, WITHOUT_CREDIT};
use crate::tables::each;

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
