//! What callers may read of their money: the balance of their customer, the state of their key, and sums of usage.

use std::ops::Range;
use std::sync::Arc;

use gatehouse_model::{Credits, Key, KeyId, QuotaUse};
use gatehouse_store::{StoreError, UsagePeriod, UsagePosition, UsageQuery, UsageRows, UsageScope};

use crate::shared::Shared;

/// A customer's balance and what a key of it may still spend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Funds {
    /// Free.
    pub available: Credits,
    /// Held for what is under way.
    pub reserved: Credits,
    /// Settled so far.
    pub spent: Credits,
    /// The customer's quota and what is used of it.
    pub quota: Option<QuotaUse>,
    /// The caller's key as it is now.
    pub key: Key,
    /// The quota of that key, which it shares with those that replaced it, and what is used of it.
    pub key_quota: Option<QuotaUse>,
}

/// Which days of usage to read: of one key, or of each key of the caller's customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageFilter {
    /// Days since the epoch, UTC.
    pub days: Range<u32>,
    /// Only this key. Another customer's key is as unknown as one that never existed.
    pub key: Option<KeyId>,
    /// Only what comes after this position.
    pub after: Option<UsagePosition>,
    /// At most so many rows are read, looking up a key included.
    pub max_rows: usize,
}

/// Reads what customers have and have spent.
pub struct Balances {
    pub(crate) shared: Arc<Shared>,
}

impl Balances {
    /// The balance of the caller's customer and the caller's key. `None` once one of them is gone.
    pub async fn funds(&self, key: &Key) -> Result<Option<Funds>, StoreError> {
        let (store, now) = (&self.shared.store, self.shared.now());
        let (customer, key) = (store.customer(&key.customer).await?, store.key_lineage(&key.id).await?);
        let Some((customer, key)) = customer.zip(key) else { return Ok(None) };
        let quota = customer.quota_use(now);
        Ok(Some(Funds {
            available: customer.available,
            reserved: customer.reserved,
            spent: customer.spent,
            quota,
            key_quota: key.quota_use(now),
            key: key.key,
        }))
    }

    /// Sums by key, day and model, in this order.
    pub async fn usage(&self, key: &Key, filter: UsageFilter) -> Result<UsageRows, StoreError> {
        self.sums(UsageScope::EachKey(Some(key.customer.clone())), key, filter).await
    }

    /// Sums by day and model, of one key or of all keys of the caller's customer together.
    pub async fn usage_in_all(&self, key: &Key, filter: UsageFilter) -> Result<UsageRows, StoreError> {
        let filter = UsageFilter { after: None, ..filter };
        self.sums(UsageScope::Customer(key.customer.clone()), key, filter).await
    }

    /// Of the one key that the filter names, or else of `all`.
    async fn sums(&self, all: UsageScope, key: &Key, filter: UsageFilter) -> Result<UsageRows, StoreError> {
        let UsageFilter { days: range, key: only, after, max_rows } = filter;
        let scope = only.map_or(all, |only| UsageScope::Key(key.customer.clone(), only));
        let period = UsagePeriod::Day;
        self.shared.store.usage(UsageQuery { scope, period, range, after, max_rows }).await
    }
}
