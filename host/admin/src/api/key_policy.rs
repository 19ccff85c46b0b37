//! What is said of a key to be made: its customer and its policy.

use std::collections::BTreeMap;

use gatehouse_model::{ChatFormat, Credits, CustomerId, KeyPolicy, Limits, QuotaPeriod, UnixMs};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// The policy of a key to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// The customer that pays.
    #[serde(rename = "account", alias = "customer")]
    pub customer: CustomerId,
    /// A name for people.
    pub name: String,
    /// Spending limit; `None` is unlimited.
    pub quota: Option<Credits>,
    /// How often the quota resets; `None` is never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_period: Option<QuotaPeriod>,
    /// Models it may use; empty means all.
    pub models: Vec<String>,
    /// Networks it may be used from; empty means all.
    pub networks: Vec<IpNet>,
    /// When it stops working.
    pub expires: Option<UnixMs>,
    /// Form of chat completions, where the request does not choose.
    #[serde(default)]
    pub chat_format: ChatFormat,
    /// How fast and how much at a time.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub limits: Limits,
    /// The same of single models, by id or alias.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub model_limits: BTreeMap<String, Limits>,
    /// Its models may come later: names that are not served now are taken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

impl NewKey {
    /// A key of that customer that may do everything.
    #[must_use]
    pub fn unlimited(customer: CustomerId, name: impl Into<String>) -> Self {
        Self::with_policy(customer, KeyPolicy { name: name.into(), ..KeyPolicy::default() })
    }

    /// A key of that customer with that policy.
    #[must_use]
    pub fn with_policy(customer: CustomerId, policy: KeyPolicy) -> Self {
        let KeyPolicy {
            name,
            quota,
            quota_period,
            models,
            networks,
            expires,
            chat_format,
            limits,
            model_limits,
        } = policy;
        Self {
            customer,
            name,
            quota,
            quota_period,
            models,
            networks,
            expires,
            chat_format,
            limits,
            model_limits,
            force: false,
        }
    }

    /// Who pays, and the policy.
    #[must_use]
    pub fn into_policy(self) -> (CustomerId, KeyPolicy) {
        let Self {
            customer,
            name,
            quota,
            quota_period,
            models,
            networks,
            expires,
            chat_format,
            limits,
            model_limits,
            force: _,
        } = self;
        let policy = KeyPolicy {
            name,
            quota,
            quota_period,
            models,
            networks,
            expires,
            chat_format,
            limits,
            model_limits,
        };
        (customer, policy)
    }
}
