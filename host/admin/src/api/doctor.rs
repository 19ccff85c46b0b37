//! An examination of the ledger and of every index: how far it is, and what it found.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// An examination. It goes on whether anybody looks or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct DoctorRun {
    /// Its number, to look at it again.
    pub run: u64,
    /// Whether it goes on.
    pub state: RunState,
    /// Rows checked so far.
    pub checked: u64,
    /// Rows to check; zero in its first moments.
    pub of: u64,
    /// What it found; null while it goes on.
    pub report: Option<DoctorReport>,
}

/// Whether an examination goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "DoctorState")]
pub(crate) enum RunState {
    /// It goes on.
    Running,
    /// It has its report.
    Done,
}

/// The doctor's report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct DoctorReport {
    /// Whether nothing is wrong.
    pub sound: bool,
    /// Violated invariants, a sentence each.
    pub findings: Vec<String>,
    /// Rows checked, by kind.
    pub counts: BTreeMap<String, u64>,
    /// Difference between the ledger and the balances.
    pub imbalance_micro: i64,
}
