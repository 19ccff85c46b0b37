//! Money reserved for one request.
//!
//! A hold is a row with an owner and an end, never a counter. An open hold has a row; settling or releasing it
//! removes the row, so it cannot be resolved a second time.

use std::fmt;

use gatehouse_model::{Credits, CustomerId, KeyId, RequestId, TaskId, UnixMs};
use serde::{Deserialize, Serialize};

use crate::records::quota::PeriodShare;

/// What a hold is for, and so its name. A task's hold is resolved by the task's end only, a request's by
/// [`crate::Command::Settle`], [`crate::Command::Release`] or its expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HoldId {
    /// One HTTP request that is answered while its client waits.
    Request(RequestId),
    /// A durable task.
    Task(TaskId),
}

impl fmt::Display for HoldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(id) => id.fmt(f),
            Self::Task(id) => id.fmt(f),
        }
    }
}

/// What of a hold counts against one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldShare {
    /// The key.
    pub key: KeyId,
    /// How much.
    pub amount: Credits,
    /// What of it counts in a period of that key's quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<PeriodShare>,
}

/// What of a hold, or of an addition to it, counts in periods of quotas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PeriodShares {
    pub(crate) key: Option<PeriodShare>,
    pub(crate) customer: Option<PeriodShare>,
}

/// An open hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// What it is for.
    pub id: HoldId,
    /// Who pays.
    #[serde(rename = "account")]
    pub customer: CustomerId,
    /// Whose quota it counts against.
    pub key: KeyId,
    /// What is reserved; zero for what is free, so that every live task has exactly one hold.
    pub amount: Credits,
    /// When it was made.
    pub created: UnixMs,
    /// When a request's hold is released by the sweep; for a task, its deadline.
    pub expires: UnixMs,
    /// What of `amount` counts against other keys: of requests that joined the task through them. One for each key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<HoldShare>,
    /// The canonical model, under which the key counts it as open, and for the sums of usage.
    pub model: String,
    /// What counts in a period of its own key's quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<PeriodShare>,
    /// What counts in a period of its customer's quota, through whatever key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_of_customer: Option<PeriodShare>,
}

impl Hold {
    /// What counts against `key`. `None` where the shares do not fit.
    #[must_use]
    pub fn own(&self) -> Option<Credits> {
        self.shares.iter().try_fold(self.amount, |left, share| left.checked_sub(share.amount))
    }

    /// The hold as it was reserved.
    pub(crate) fn reserved(self, shares: PeriodShares) -> Self {
        Self { counted: shares.key, counted_of_customer: shares.customer, ..self }
    }

    /// The hold with so much more of it, counted against `key`. `None` where it does not fit.
    pub(crate) fn joined(mut self, key: &KeyId, amount: Credits, shares: PeriodShares) -> Option<Self> {
        self.amount = self.amount.checked_add(amount)?;
        self.counted_of_customer = PeriodShare::joined(self.counted_of_customer, shares.customer)?;
        if *key == self.key {
            self.counted = PeriodShare::joined(self.counted, shares.key)?;
            return Some(self);
        }
        match self.shares.iter_mut().find(|share| share.key == *key) {
            Some(share) => {
                share.amount = share.amount.checked_add(amount)?;
                share.counted = PeriodShare::joined(share.counted, shares.key)?;
            }
            None => self.shares.push(HoldShare { key: key.clone(), amount, counted: shares.key }),
        }
        Some(self)
    }
}
