//! What operators watch of a store while it serves: counts and oldest rows, from the first rows of indexes. Nothing here walks
//! over a table of customers, holds or deliveries.

use std::ops::Bound;

use gatehouse_model::{DeliveryId, RequestId, TaskId, UnixMs};
use redb::ReadTransaction;

use crate::error::StoreError;
use crate::layout::{
    DELIVERY_DUE, DELIVERY_INDEX, HOLDS, PENDING_DELIVERIES, REQUEST_HOLDS, TASK_HOLDS, TROUBLED_WEBHOOKS,
    WITHOUT_CREDIT,
};

/// Webhooks whose oldest delivery is looked for; of more than these it is the oldest of the first.
const MAX_WEBHOOKS: usize = 1_000;

/// What there is at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreGauges {
    /// Customers that have no credit.
    pub customers_without_credit: u64,
    /// When the oldest open hold of a request was made.
    pub oldest_request_hold: Option<UnixMs>,
    /// When the oldest open hold of a task was made.
    pub oldest_task_hold: Option<UnixMs>,
    /// Deliveries to webhooks that wait.
    pub deliveries_waiting: u64,
    /// When the oldest of them was made.
    pub oldest_delivery: Option<UnixMs>,
    /// Webhooks that do not reach their receiver.
    pub webhooks_failing: u64,
}

/// What there is now.
pub(crate) fn gauges(txn: &ReadTransaction) -> Result<StoreGauges, StoreError> {
    let holds = HOLDS.open(txn)?;
    let oldest = |kind: u8| -> Result<Option<u128>, StoreError> {
        let first = holds.keys((kind, 0)..=(kind, u128::MAX))?.next().transpose()?;
        Ok(first.map(|(_, id)| id))
    };
    Ok(StoreGauges {
        customers_without_credit: WITHOUT_CREDIT.len(txn)?,
        oldest_request_hold: oldest(REQUEST_HOLDS)?.map(|bits| RequestId::from_bits(bits).timestamp()),
        oldest_task_hold: oldest(TASK_HOLDS)?.map(|bits| TaskId::from_bits(bits).timestamp()),
        deliveries_waiting: DELIVERY_DUE.len(txn)?,
        oldest_delivery: oldest_delivery(txn)?,
        webhooks_failing: TROUBLED_WEBHOOKS.len(txn)?,
    })
}

/// When the oldest delivery was made that waits.
fn oldest_delivery(txn: &ReadTransaction) -> Result<Option<UnixMs>, StoreError> {
    let (due, index) = (DELIVERY_DUE.open(txn)?, DELIVERY_INDEX.open(txn)?);
    let (mut oldest, mut from) = (None, Bound::Unbounded);
    for _ in 0..MAX_WEBHOOKS {
        let Some(row) = due.range((from, Bound::Unbounded))?.next() else { break };
        let (webhook, ..) = row?.key()?;
        let of = |id| (webhook, PENDING_DELIVERIES, id);
        if let Some(row) = index.range(of(0)..=of(u128::MAX))?.next() {
            let made = DeliveryId::from_bits(row?.key()?.2).timestamp();
            oldest = Some(oldest.map_or(made, |oldest: UnixMs| oldest.min(made)));
        }
        from = Bound::Excluded((webhook, u64::MAX, u128::MAX));
    }
    Ok(oldest)
}
