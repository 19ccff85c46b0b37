//! Money reserved for one request.
//!
//! A hold is a row with an owner and an end, never a counter. An open hold has a row; settling or releasing it
//! removes the row, so it cannot be resolved a second time.

use std::fmt;

use gatehouse_model::{Credits, CustomerId, KeyId, RequestId, TaskId, UnixMs};
use serde::{Deserialize, Serialize};

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
    /// The price of one unit, frozen when the hold was made.
    pub unit_price: Credits,
    /// When it was made.
    pub created: UnixMs,
    /// When a request's hold is released by the sweep; for a task, its deadline.
    pub expires: UnixMs,
}
