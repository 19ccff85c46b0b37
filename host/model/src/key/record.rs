//! API keys: policy, limits, a key's share of its customer's spending, and what a rotation leaves of it.
//!
//! Never holds a key's text: only its digest is kept. The rules of changes are in `tasks`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::apikey::KeyDigest;
use crate::credits::Credits;
use crate::declare::policy;
use crate::ids::{CustomerId, KeyId};
use crate::quota::{PeriodUse, QuotaPeriod, QuotaUse};
use crate::time::UnixMs;
use crate::words;

/// An API key's record: its policy and its share of the account's spending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The public part.
    pub id: KeyId,
    /// Who pays.
    #[serde(rename = "account")]
    pub customer: CustomerId,
    /// For people.
    pub name: String,
    /// What is kept of the secret.
    pub digest: KeyDigest,
    /// When it was made.
    pub created: UnixMs,
    /// Spending limit; `None` is unlimited (the account still bounds it). Less than `used` is allowed, and lets nothing
    /// more be held.
    pub quota: Option<Credits>,
    /// Held plus settled through this key and those that it replaced: a rotation shares one quota.
    pub used: Credits,
    /// Models it may use, by canonical id or alias; empty means all.
    pub models: Vec<String>,
    /// Networks it may be used from; empty means all.
    pub networks: Vec<IpNet>,
    /// When it stops working.
    pub expires: Option<UnixMs>,
    /// When it was revoked.
    pub revoked: Option<UnixMs>,
    /// How its chat completions come unless a request says otherwise.
    #[serde(default)]
    pub chat_format: ChatFormat,
    /// How fast and how much at a time, of all models together.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub limits: Limits,
    /// The same of single models, by canonical id; a request counts against both.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub model_limits: BTreeMap<String, Limits>,
    /// Counts edits, rotations and the revocation. What it spends leaves it as it is.
    #[serde(default, skip_serializing_if = "crate::customer::is_first")]
    pub revision: u64,
    /// The key that it replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotated_from: Option<KeyId>,
    /// The key that replaced it, whose quota and concurrency count from then on for both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotated_to: Option<KeyId>,
    /// The first key of its rotations; `None` for that one. See [`Key::lineage`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<KeyId>,
    /// What counted against the quota when it was set last: a quota below it is exceeded from the beginning.
    #[serde(default, skip_serializing_if = "Credits::is_zero")]
    pub used_before_quota: Credits,
    /// How often the quota resets; `None` for one that never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_period: Option<QuotaPeriod>,
    /// Its customer's webhooks are told once so many percent of the quota are used, 1 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_alert: Option<u8>,
    /// The reset of the period in which they were told of the quota; the beginning of time for one that never resets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_told: Option<UnixMs>,
    /// What was used in the period of the last use, through this key and those that it replaced. Left alone while there
    /// are no periods, and once another key has replaced this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_use: Option<PeriodUse>,
    /// Live tasks and open text requests through this key and those that it replaced, by canonical model. A model
    /// without any is not listed. Changes with the row of a hold, in the same commit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub open: BTreeMap<String, u32>,
}

// The row and the admin API have this one type, and the options of commands are made of it. None is zero, which would be a revoked
// key; as many as in a minute may come at once.
/// How fast and how much at a time; null is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "ApiKeyLimits")]
pub struct Limits {
    /// Text requests and submissions of tasks in a minute.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Tokens of text requests in a minute, read and written.
    pub tokens_per_minute: Option<NonZeroU32>,
    /// Live tasks and open text requests.
    pub concurrency: Option<NonZeroU32>,
}

policy! {
    /// What an operator decides about a key, and may decide anew.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct KeyPolicy of Key {
        /// [`Key::name`].
        pub name: String,
        /// [`Key::quota`].
        pub quota: Option<Credits>,
        /// [`Key::quota_period`].
        #[serde(skip_serializing_if = "Option::is_none")]
        pub quota_period: Option<QuotaPeriod>,
        /// [`Key::quota_alert`].
        #[serde(skip_serializing_if = "Option::is_none")]
        pub quota_alert: Option<u8>,
        /// [`Key::models`].
        pub models: Vec<String>,
        /// [`Key::networks`].
        pub networks: Vec<IpNet>,
        /// [`Key::expires`].
        pub expires: Option<UnixMs>,
        /// [`Key::chat_format`].
        pub chat_format: ChatFormat,
        /// [`Key::limits`].
        pub limits: Limits,
        /// [`Key::model_limits`].
        pub model_limits: BTreeMap<String, Limits>,
    }
}

words! {
    /// How a chat completion is answered (spec/decisions.md, "Chat completions").
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum ChatFormat {
        /// Within `{code, data}`.
        #[default]
        Wrapped = "wrapped",
        /// The object itself, as the protocol's own clients expect.
        Bare = "bare",
    }
}

impl Limits {
    /// Whether nothing is limited.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Key {
    /// A key that has not been used.
    #[must_use]
    pub fn new(
        id: KeyId,
        customer: CustomerId,
        digest: KeyDigest,
        created: UnixMs,
        policy: KeyPolicy,
    ) -> Self {
        let unused = Self {
            id,
            customer,
            name: String::new(),
            digest,
            created,
            quota: None,
            used: Credits::ZERO,
            models: Vec::new(),
            networks: Vec::new(),
            expires: None,
            revoked: None,
            chat_format: ChatFormat::default(),
            limits: Limits::default(),
            model_limits: BTreeMap::new(),
            revision: 0,
            rotated_from: None,
            rotated_to: None,
            first: None,
            used_before_quota: Credits::ZERO,
            quota_period: None,
            quota_alert: None,
            quota_told: None,
            period_use: None,
            open: BTreeMap::new(),
        };
        unused.with_policy(policy)
    }

    /// Its quota and what is used of it at that moment; `None` without a quota.
    #[must_use]
    pub fn quota_use(&self, at: UnixMs) -> Option<QuotaUse> {
        QuotaUse::new(self.quota, self.quota_period, self.period_use, self.used, at)
    }

    /// What a key has in common with all that it replaced and that replaced it: they share what is left of its rates.
    #[must_use]
    pub fn lineage(&self) -> &KeyId {
        self.first.as_ref().unwrap_or(&self.id)
    }

    /// Live tasks and open text requests, of all models.
    #[must_use]
    pub fn open_requests(&self) -> u32 {
        self.open.values().fold(0, |sum, open| sum.saturating_add(*open))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(policy: KeyPolicy) -> Key {
        let digest = KeyDigest(crate::digest::Digest::default());
        Key::new("k".into(), "c".into(), digest, UnixMs(1), policy)
    }

    #[test]
    fn a_policy_goes_in_and_comes_out() {
        let limits = Limits { requests_per_minute: NonZeroU32::new(5), ..Limits::default() };
        let policy = KeyPolicy {
            name: "laptop".to_owned(),
            quota: Some(Credits(5)),
            quota_period: Some("week".parse().unwrap()),
            quota_alert: Some(80),
            models: vec!["a".to_owned()],
            networks: vec!["10.0.0.0/8".parse().unwrap()],
            expires: Some(UnixMs(7)),
            chat_format: ChatFormat::Bare,
            limits,
            model_limits: [("a".to_owned(), limits)].into(),
        };
        let key = key(policy.clone());
        assert_eq!(key.policy(), policy);
        assert_eq!(key.clone().with_policy(KeyPolicy::default()).policy(), KeyPolicy::default());
        assert_eq!(key.clone().with_policy(KeyPolicy::default()).with_policy(policy), key);
    }

    #[test]
    fn a_quota_below_what_is_used_leaves_nothing() {
        let key = key(KeyPolicy { quota: Some(Credits(5)), ..KeyPolicy::default() });
        for (used, left) in [(0, 5), (5, 0), (9, 0)] {
            let used = Key { used: Credits(used), ..key.clone() }.quota_use(UnixMs(1)).unwrap();
            assert_eq!((used.remaining(), used.resets), (Credits(left), None));
        }
    }

    #[test]
    fn no_limit_is_zero() {
        assert!(serde_json::from_str::<Limits>(r#"{"concurrency": 0}"#).is_err());
        assert!(serde_json::from_str::<Limits>(r#"{"concurrency": null}"#).unwrap().is_empty());
        assert!(serde_json::from_str::<Limits>(r#"{"rpm": 1}"#).is_err());
    }
}
