//! What is kept of an operator's request. Shapes only; the rules are in `rules`.

use gatehouse_model::{Digest, RequestId, UnixMs};
use serde::{Deserialize, Serialize};

/// A request over the admin API as the audit record keeps it. Never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditedRequest {
    /// The request's id, which its answer carried.
    pub id: RequestId,
    /// The token or session it came with; empty for a request without a valid one.
    pub who: String,
    /// "viewer" or "operator"; empty likewise.
    pub role: String,
    /// The peer's address.
    pub address: String,
    /// The operation's name, such as `createKey`.
    pub operation: String,
    /// What it was about, as a path such as `keys/4f9a`.
    pub object: String,
    /// The status of the answer.
    pub status: u16,
    /// Why it was refused; empty where it was done.
    #[serde(default)]
    pub reason: String,
    /// What changed.
    #[serde(default)]
    pub changes: Vec<FieldChange>,
}

/// One field of an object, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldChange {
    /// Its name.
    pub field: String,
    /// As JSON; `None` where there was none.
    pub before: Option<String>,
    /// As JSON; `None` where there is none any more.
    pub after: Option<String>,
}

/// How an operator's request is recognised when it comes again. All operators share one set of tokens, since a
/// credential may change between a request and its repetition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminIdempotency {
    /// The digest of the idempotency key.
    pub token: Digest,
    /// The digest of the request.
    pub fingerprint: Digest,
    /// What the request makes or changes, such as a new key's id.
    pub object: String,
    /// Until when it is remembered.
    pub expires: UnixMs,
}

/// What is remembered of a request that came with an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminIdempotencyRecord {
    /// The digest of the idempotency key.
    pub token: Digest,
    /// The digest of the request.
    pub fingerprint: Digest,
    /// What it made or changed.
    pub object: String,
    /// The position of the ledger entry it made.
    pub entry: Option<u64>,
    /// From when on it counts as absent.
    pub expires: UnixMs,
}

impl AuditedRequest {
    /// The line in words.
    #[must_use]
    pub fn text(&self) -> String {
        let who = if self.who.is_empty() { "no valid credential" } else { &self.who };
        let outcome = if self.reason.is_empty() { String::new() } else { format!(": {}", self.reason) };
        format!("{} {} by {who} ({}): {}{outcome}", self.operation, self.object, self.address, self.status)
    }
}
