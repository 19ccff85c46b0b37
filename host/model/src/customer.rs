//! Customers and their balances.

use serde::{Deserialize, Serialize};

use crate::credits::Credits;
use crate::declare::policy;
use crate::digest::Digest;
use crate::ids::CustomerId;
use crate::quota::{PeriodUse, QuotaPeriod, QuotaUse};
use crate::time::UnixMs;

/// The end of a customer's chain of ledger entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerHead {
    /// The place of the next entry: how many there are.
    pub next: u64,
    /// The chain of the last entry; all zero before the first one.
    pub chain: Digest,
}

/// A customer's balances, and how much of them it may spend. `available + reserved + spent` always equals `deposited`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Customer {
    /// Its id.
    pub id: CustomerId,
    /// When it was opened.
    pub created: UnixMs,
    /// Free to be held.
    pub available: Credits,
    /// Held for requests under way.
    pub reserved: Credits,
    /// Settled.
    pub spent: Credits,
    /// Everything ever paid in, less what was taken back.
    pub deposited: Credits,
    /// Spending limit of all its keys together; `None` is no limit but the balance. Less than is used is allowed, and lets
    /// nothing more be held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Credits>,
    /// How often the quota resets; `None` for one that never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_period: Option<QuotaPeriod>,
    /// What was used in the period of the last use. Left alone while there are no periods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_use: Option<PeriodUse>,
    /// What counted against the quota when it was set last: a quota below it is exceeded from the beginning.
    #[serde(default, skip_serializing_if = "Credits::is_zero")]
    pub used_before_quota: Credits,
    /// Its webhooks are told once what is unspent falls below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_balance: Option<Credits>,
    /// Its webhooks are told once so many percent of the quota are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_alert: Option<u8>,
    /// The variant of the price book that its requests are priced by; `None` for the book itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_variant: Option<String>,
    /// The reset of the period in which they were told of the quota; the beginning of time for one that never resets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_told: Option<UnixMs>,
    /// Counts edits. Money leaves it as it is.
    #[serde(default, skip_serializing_if = "is_first")]
    pub revision: u64,
    /// The end of its ledger, whose sum the balances are.
    pub head: LedgerHead,
}

policy! {
    /// What an operator decides about a customer, and may decide anew.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct CustomerPolicy of Customer {
        /// [`Customer::quota`].
        pub quota: Option<Credits>,
        /// [`Customer::quota_period`].
        pub quota_period: Option<QuotaPeriod>,
        /// [`Customer::low_balance`].
        pub low_balance: Option<Credits>,
        /// [`Customer::quota_alert`]: 1 to 100.
        pub quota_alert: Option<u8>,
        /// [`Customer::price_variant`]: a name of the configuration, at most 32 bytes.
        pub price_variant: Option<String>,
    }
}

impl Customer {
    /// A customer with nothing in it.
    #[must_use]
    pub fn new(id: CustomerId, created: UnixMs, policy: CustomerPolicy) -> Self {
        let CustomerPolicy { quota, quota_period, low_balance, quota_alert, price_variant } = policy;
        Self {
            id,
            created,
            available: Credits::ZERO,
            reserved: Credits::ZERO,
            spent: Credits::ZERO,
            deposited: Credits::ZERO,
            quota,
            quota_period,
            period_use: None,
            used_before_quota: Credits::ZERO,
            low_balance,
            quota_alert,
            price_variant,
            quota_told: None,
            revision: 0,
            head: LedgerHead::default(),
        }
    }

    /// Its quota and what is used of it at that moment; `None` without a quota.
    #[must_use]
    pub fn quota_use(&self, at: UnixMs) -> Option<QuotaUse> {
        let used = self.reserved.checked_add(self.spent).unwrap_or(Credits(i64::MAX));
        QuotaUse::new(self.quota, self.quota_period, self.period_use, used, at)
    }

    /// Whether it can pay for anything: without, all its requests are refused.
    #[must_use]
    pub fn has_credit(&self) -> bool {
        self.available > Credits::ZERO
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
pub(crate) fn is_first(revision: &u64) -> bool {
    *revision == 0
}
