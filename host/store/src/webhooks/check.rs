//! The list of webhooks in trouble against the webhooks, for the doctor.

use gatehouse_model::WebhookId;
use gatehouse_tasks::{Examination, WebhookEndpoint};
use redb::{ReadTransaction, ReadableTable as _};

use crate::error::StoreError;
use crate::layout::{TROUBLED_WEBHOOKS, WEBHOOKS};
use crate::row::decode;

/// Each webhook in trouble is listed, and nothing else is.
pub(crate) fn check(txn: &ReadTransaction, examination: &mut Examination) -> Result<(), StoreError> {
    let (webhooks, troubled) = (txn.open_table(WEBHOOKS)?, txn.open_table(TROUBLED_WEBHOOKS)?);
    for row in webhooks.iter()? {
        let webhook: WebhookEndpoint = decode("webhooks", row?.1.value())?;
        let (id, is_listed) = (webhook.id, troubled.get(webhook.id.bits())?.is_some());
        let wrong = match (webhook.is_troubled(), is_listed) {
            (true, false) => "the list of those in trouble misses it",
            (false, true) => "it is listed as in trouble, and is not",
            _ => continue,
        };
        examination.look_up(format!("webhook {id}: {wrong}"));
    }
    for row in troubled.iter()? {
        let id = row?.0.value();
        if webhooks.get(id)?.is_none() {
            let id = WebhookId::from_bits(id);
            examination.look_up(format!("webhook {id}: it is listed as in trouble, and has no row"));
        }
    }
    Ok(())
}
