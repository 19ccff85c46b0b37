//! What a hold counts of a quota, and what a quota says when it has too little left. The rules are `ledger`'s.

use std::fmt;

use gatehouse_model::{Credits, UnixMs};
use serde::{Deserialize, Serialize};

/// Whose quota it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaOwner {
    /// One key, with those that replaced it.
    Key,
    /// All keys of a customer together.
    Customer,
}

/// A quota that does not allow a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{owner} quota exceeded: this request needs {needed} credits, {remaining} remain{}", resets_at(.resets))]
pub struct QuotaExceeded {
    /// Whose it is.
    pub owner: QuotaOwner,
    /// What was asked for.
    pub needed: Credits,
    /// What is left.
    pub remaining: Credits,
    /// When there is enough again, as far as the quota goes; `None` where there never is.
    pub resets: Option<UnixMs>,
}

/// The word that clients read.
impl fmt::Display for QuotaOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key => "key",
            Self::Customer => "account",
        })
    }
}

fn resets_at(resets: &Option<UnixMs>) -> String {
    resets.map_or_else(String::new, |at| format!("; the quota resets at {at}"))
}

/// What of a hold counts in one period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeriodShare {
    /// [`gatehouse_model::PeriodUse::number`], the last in which the hold grew.
    pub period: u64,
    /// How much. The rest of the hold counts in earlier periods, or was made when the quota had none.
    pub amount: Credits,
}

impl PeriodShare {
    /// The share once `more` has joined. Of earlier periods nothing is remembered: they are over. `None` where it does not
    /// fit.
    pub(crate) fn joined(before: Option<Self>, more: Option<Self>) -> Option<Option<Self>> {
        match (before, more) {
            (Some(before), Some(more)) if before.period == more.period => {
                let amount = before.amount.checked_add(more.amount)?;
                Some(Some(Self { amount, ..more }))
            }
            (before, more) => Some(more.or(before)),
        }
    }
}
