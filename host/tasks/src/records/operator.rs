//! The rows: a version of the price book, and the report of a deployment. Shapes and bounds only; the rules are in `rules`.

use gatehouse_model::{Credits, Digest, UnixMs};
use serde::{Deserialize, Serialize};

/// Versions of the price book that are kept; the oldest go.
pub const MAX_PRICE_BOOKS: u64 = 500;
/// Prices that one version keeps.
pub const MAX_PRICES: usize = 4_096;
/// Reports of deployments that are kept, of all families together; the oldest go.
pub const MAX_DEPLOYMENTS: u64 = 1_000;
/// The longest text in a row, in bytes; a longer one is cut.
pub const MAX_RECORD_TEXT: usize = 1_000;
/// Stages that one report keeps.
pub(crate) const MAX_STAGES: usize = 32;

/// A row to be kept. Its number is given by the rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperatorRecord {
    /// The prices in effect; nothing is kept where the newest version has the same digest.
    PriceBook(PriceVersion),
    /// What a deployment came to.
    Deployment(DeploymentRecord),
    /// What became of an account. No row is kept of it: the operators' webhooks are told.
    Account(AccountRecord),
}

/// An account that cannot be used for a while, or can be again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountRecord {
    /// Its provider.
    pub provider: String,
    /// Its name there.
    pub account: String,
    /// Whether it cannot be used.
    pub is_down: bool,
    /// Since when it could not.
    pub since: UnixMs,
    /// When that was found.
    pub at: UnixMs,
    /// Why it could not, a sentence.
    pub reason: String,
}

/// Prices that were in effect from a moment on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceVersion {
    /// Counted from 1.
    pub number: u64,
    /// Since when.
    pub at: UnixMs,
    /// Who caused the change: a token, a session, the gateway itself.
    pub who: String,
    /// What caused it, such as a reload.
    pub cause: String,
    /// Of all prices, also of those left out.
    pub digest: Digest,
    /// By key and part.
    pub prices: Vec<PriceRow>,
    /// Prices beyond [`MAX_PRICES`], which are not kept.
    pub left_out: u64,
    /// Whether the prices of single targets and of passed fields are among them; a version of an earlier release lacks both.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lists_all: bool,
    /// Prices that are new, gone or other than in the version before.
    pub changed: u64,
}

/// One price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceRow {
    /// The price key, or the text model; of a target its model, ` at ` and its name.
    pub key: String,
    /// What it is the price of.
    pub part: PricePart,
    /// How much. A factor of one is one credit.
    pub price: Credits,
}

/// What a price is the price of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PricePart {
    /// One unit.
    Unit,
    /// A thousand units.
    Thousand,
    /// A million units.
    Million,
    /// A million tokens read.
    Input,
    /// A million tokens written.
    Output,
    /// A million tokens read from a cache.
    Cached,
    /// A million tokens read and put into a cache.
    CacheWrite,
    /// A million tokens read and put into a cache that keeps them for an hour.
    CacheWriteHour,
    /// A million of a counter; the key is the model's name, a space and the counter's.
    Counter,
    /// By how much every price of tokens is multiplied where a field is passed; the key is the model's name, a space and the
    /// field's.
    PassFactor,
    /// A request that passes a field; the key likewise.
    PassRequest,
}

/// What a deployment came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentRecord {
    /// Counted from 1.
    pub number: u64,
    /// When it ended.
    pub at: UnixMs,
    /// Who ordered it: a token, a session, the gateway itself.
    pub who: String,
    /// What was ordered.
    pub kind: DeploymentKind,
    /// Whether the family was switched.
    pub outcome: DeploymentOutcome,
    /// The family; empty where the component did not come so far as to tell.
    pub family: String,
    /// Its semver; empty likewise.
    pub version: String,
    /// The sha256 of the component; none for a rollback that found no version.
    pub digest: Option<Digest>,
    /// The version that served before; for a canary, the one that was rolled back.
    pub replaced: Option<Digest>,
    /// Why it was refused, or why a canary was rolled back; empty otherwise.
    pub reason: String,
    /// Every stage in order.
    pub stages: Vec<StageRecord>,
}

/// What was ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeploymentKind {
    /// A component was installed.
    Install,
    /// A kept version was activated.
    Activate,
    /// An operator went back to the version before.
    RollBack,
    /// A canary was rolled back, and this version took over.
    Canary,
    /// The version served when the gateway started, and no report says how it came to that.
    Found,
}

/// Whether the family was switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeploymentOutcome {
    /// Another version serves.
    Switched,
    /// The version served already.
    Unchanged,
    /// The version before serves on.
    Refused,
}

/// One stage of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageRecord {
    /// `admit`, `compile`, ...
    pub stage: String,
    /// `passed`, `refused` or `skipped`.
    pub verdict: String,
    /// How long it took.
    pub took_ms: u64,
    /// What it found, a sentence.
    pub note: String,
}

impl DeploymentRecord {
    /// The digest of the version that serves its family afterwards, as far as the record tells.
    #[must_use]
    pub fn serves(&self) -> Option<Digest> {
        self.digest.filter(|_| self.outcome != DeploymentOutcome::Refused)
    }
}
