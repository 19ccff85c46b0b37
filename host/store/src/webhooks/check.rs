//! The list of webhooks in trouble against the webhooks, for the doctor.

use gatehouse_model::WebhookId;
use gatehouse_tasks::Examination;
use redb::ReadTransaction;

use crate::error::StoreError;
use crate::layout::{TROUBLED_WEBHOOKS, WEBHOOKS};

/// Each webhook in trouble is listed, and nothing else is.
pub(crate) fn check(txn: &ReadTransaction, examination: &mut Examination) -> Result<(), StoreError> {
    let (webhooks, troubled) = (WEBHOOKS.open(txn)?, TROUBLED_WEBHOOKS.open(txn)?);
    for row in webhooks.range(..)? {
        let webhook = row?.row()?;
        let (id, is_listed) = (webhook.id, troubled.has(webhook.id.bits())?);
        let wrong = match (webhook.is_troubled(), is_listed) {
            (true, false) => "the list of those in trouble misses it",
            (false, true) => "it is listed as in trouble, and is not",
            _ => continue,
        };
        examination.look_up(format!("webhook {id}: {wrong}"));
    }
    for row in troubled.range(..)? {
        let id = row?.key()?;
        if !webhooks.has(id)? {
            let id = WebhookId::from_bits(id);
            examination.look_up(format!("webhook {id}: it is listed as in trouble, and has no row"));
        }
    }
    Ok(())
}
