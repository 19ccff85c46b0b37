//! What comes with an accepted request: the memory of its idempotency key, and what a joining one brings.

use bytes::Bytes;
use gatehouse_model::{BlobId, Charge, Credits, Digest, KeyId, Price, Task, UnixMs};
use serde::{Deserialize, Serialize};

/// How a submission is recognised when it comes again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idempotency {
    /// The API key it is scoped to.
    pub key: KeyId,
    /// The digest of the client's token.
    pub token: Digest,
    /// The digest of the request.
    pub fingerprint: Digest,
    /// Until when it is remembered.
    pub expires: UnixMs,
}

/// The state of a task that an answer about a request is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedTask {
    /// The task's revision.
    pub revision: u64,
    /// How many requests had joined it and were not delivered. They leave the revision as it is.
    pub undelivered: usize,
}

impl JudgedTask {
    /// The state of a task as it was read.
    #[must_use]
    pub fn of(task: &Task) -> Self {
        Self { revision: task.revision, undelivered: task.joined.len() }
    }
}

/// An accepted request that joins a living task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRequest {
    /// The key it came through: of the task's customer, not always the task's own key.
    pub key: KeyId,
    /// The surface it came through.
    pub surface: String,
    /// What its plugin was shown of the task.
    pub judged: JudgedTask,
    /// What its plugin made of it.
    pub brief: Bytes,
    /// The blobs it brought.
    pub blobs: Vec<BlobId>,
    /// What was promised.
    pub charge: Charge,
    /// The price of each of its lines, frozen here.
    pub prices: Vec<Price>,
    /// What its lines cost; added to the task's hold.
    pub held: Credits,
    /// Its time limit. The task's deadline moves there, unless it is later already.
    pub deadline: UnixMs,
}
