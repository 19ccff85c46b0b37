//! A backup: what is asked for, how far it is, and what it holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::values::Moment;

/// Where a backup goes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewBackup {
    /// A folder of the gateway's machine, from its root, that is empty or not there yet; or `s3://<bucket>/<prefix>`, below which
    /// there is nothing yet.
    pub to: String,
}

/// A backup that is being made, or was. It goes on whether anybody looks or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct BackupRun {
    /// Its number, to look at it again.
    pub run: u64,
    /// Whether it goes on.
    pub state: super::doctor::RunState,
    /// Rows copied so far, and then checked.
    pub done: u64,
    /// Rows to copy and check; more once the copying is done.
    pub of: u64,
    /// Bytes sent to a bucket so far.
    pub sent_bytes: u64,
    /// Bytes to send to a bucket; zero before the copy is checked, and where it goes to a folder.
    pub bytes_to_send: u64,
    /// What it holds; null while it goes on.
    pub backup: Option<BackupView>,
}

/// A backup that was made and looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BackupView {
    /// Where it is: a folder, or an address of a bucket.
    pub location: String,
    /// The moment that it shows.
    pub made: Moment,
    /// Files in it.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rows of the store.
    pub rows: u64,
    /// Entries of the ledger.
    pub ledger_entries: u64,
    /// The digest of the ends of all customers' ledgers.
    pub ledger_digest: String,
}
