//! Compares the list of customers that have no credit with their rows, for the doctor. Pages of it are in `pages`.

use gatehouse_tasks::Examination;
use redb::ReadTransaction;

use crate::error::StoreError;
use crate::layout::{CUSTOMERS, WITHOUT_CREDIT};

/// Each customer without credit is listed, and nothing else is.
pub(crate) fn check(txn: &ReadTransaction, examination: &mut Examination) -> Result<(), StoreError> {
    let (list, rows) = (WITHOUT_CREDIT.open(txn)?, CUSTOMERS.open(txn)?);
    CUSTOMERS.each(txn, |customer| {
        let id = customer.id.0.as_str();
        let wrong = match (customer.has_credit(), list.has(id)?) {
            (false, false) => "the list of those without credit misses it",
            (true, true) => "it is listed as without credit, and has some",
            _ => return Ok(()),
        };
        examination.look_up(format!("customer {id}: {wrong}"));
        Ok(())
    })?;
    for listed in list.range(..)? {
        let id = listed?.key()?;
        if !rows.has(&id)? {
            examination.look_up(format!("customer {id}: it is listed as without credit, and has no row"));
        }
    }
    Ok(())
}
