//! What an operator says about a key: the policy of a new one, and changes of an existing one as a JSON Merge Patch
//! (RFC 7396): a field that is absent stays, `null` takes a limit away.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use gatehouse_model::{ChatFormat, Credits, CustomerId, KeyPolicy, Limits, QuotaPeriod, UnixMs};
use ipnet::IpNet;
use serde::{Deserialize, Deserializer, Serialize};

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

/// A change of a key's policy. The outer `None` leaves a field as it is, the inner one takes its limit away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KeyPatch {
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Spending limit; less than is used lets nothing more be spent.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub quota: Option<Option<Credits>>,
    /// How often the quota resets.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub quota_period: Option<Option<QuotaPeriod>>,
    /// Models it may use; empty means all, as `null` does.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub models: Option<Option<Vec<String>>>,
    /// Networks it may be used from; empty means all, as `null` does.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub networks: Option<Option<Vec<IpNet>>>,
    /// When it stops working.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub expires: Option<Option<UnixMs>>,
    /// Form of chat completions, where the request does not choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat_format: Option<ChatFormat>,
    /// How fast and how much at a time.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub limits: Option<Option<LimitsPatch>>,
    /// The same of single models, by id or alias. A model that is absent stays.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub model_limits: Option<Option<BTreeMap<String, Option<LimitsPatch>>>>,
    /// Its models may come later, as for a new key.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

/// A change of limits, in the same way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsPatch {
    /// [`Limits::requests_per_minute`].
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<Option<NonZeroU32>>,
    /// [`Limits::tokens_per_minute`].
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<Option<NonZeroU32>>,
    /// [`Limits::concurrency`].
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Option<NonZeroU32>>,
}

impl KeyPatch {
    /// The policy with the changes made.
    #[must_use]
    pub fn apply(&self, policy: KeyPolicy) -> KeyPolicy {
        let mut model_limits = policy.model_limits;
        match &self.model_limits {
            Some(Some(changes)) => {
                for (model, change) in changes {
                    let before = model_limits.remove(model).unwrap_or_default();
                    let after = LimitsPatch::apply(Some(change.as_ref()), before);
                    if !after.is_empty() {
                        model_limits.insert(model.clone(), after);
                    }
                }
            }
            Some(None) => model_limits.clear(),
            None => {}
        }
        KeyPolicy {
            name: self.name.clone().unwrap_or(policy.name),
            quota: self.quota.unwrap_or(policy.quota),
            quota_period: self.quota_period.unwrap_or(policy.quota_period),
            models: self.models.clone().map_or(policy.models, Option::unwrap_or_default),
            networks: self.networks.clone().map_or(policy.networks, Option::unwrap_or_default),
            expires: self.expires.unwrap_or(policy.expires),
            chat_format: self.chat_format.unwrap_or(policy.chat_format),
            limits: LimitsPatch::apply(self.limits.as_ref().map(Option::as_ref), policy.limits),
            model_limits,
        }
    }
}

impl LimitsPatch {
    /// No patch leaves the limits, one of `null` takes all away.
    fn apply(patch: Option<Option<&Self>>, limits: Limits) -> Limits {
        match patch {
            None => limits,
            Some(None) => Limits::default(),
            Some(Some(patch)) => Limits {
                requests_per_minute: patch.requests_per_minute.unwrap_or(limits.requests_per_minute),
                tokens_per_minute: patch.tokens_per_minute.unwrap_or(limits.tokens_per_minute),
                concurrency: patch.concurrency.unwrap_or(limits.concurrency),
            },
        }
    }
}

/// A field that is there, also as `null`.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(value: D) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn policy() -> KeyPolicy {
        let limits =
            |requests| Limits { requests_per_minute: NonZeroU32::new(requests), ..Limits::default() };
        KeyPolicy {
            name: "laptop".to_owned(),
            quota: Some(Credits(5)),
            quota_period: Some("week".parse().unwrap()),
            models: vec!["a".to_owned()],
            networks: vec!["10.0.0.0/8".parse().unwrap()],
            expires: Some(UnixMs(7)),
            chat_format: ChatFormat::Bare,
            limits: limits(5),
            model_limits: [("a".to_owned(), limits(1)), ("b".to_owned(), limits(2))].into(),
        }
    }

    /// RFC 7396, section 2.
    fn merged(target: Value, patch: &Value) -> Value {
        let Value::Object(fields) = patch else { return patch.clone() };
        let mut target = target.as_object().cloned().unwrap_or_default();
        for (name, value) in fields {
            let before = target.remove(name).unwrap_or(Value::Null);
            if !value.is_null() {
                target.insert(name.clone(), merged(before, value));
            }
        }
        Value::Object(target)
    }

    #[test]
    fn a_patch_is_a_json_merge_patch() {
        for patch in [
            json!({}),
            json!({"name": "desk", "chat_format": "wrapped"}),
            json!({"quota": null, "quota_period": null, "expires": null, "models": null, "networks": null}),
            json!({"quota": 9, "quota_period": "month+02:00", "expires": 8, "models": ["c", "d"], "networks": []}),
            json!({"limits": null, "model_limits": null}),
            json!({"limits": {"requests_per_minute": null, "concurrency": 3}}),
            json!({"limits": {"tokens_per_minute": 1000}}),
            json!({"model_limits": {"a": null, "c": {"concurrency": 1}}}),
            json!({"model_limits": {"b": {"requests_per_minute": null, "tokens_per_minute": 4}}}),
            json!({"model_limits": {}}),
        ] {
            let read: KeyPatch = serde_json::from_value(patch.clone()).unwrap();
            let expected = merged(serde_json::to_value(policy()).unwrap(), &patch);
            let expected: KeyPolicy = serde_json::from_value(expected).unwrap();
            assert_eq!(read.apply(policy()), expected, "{patch}");
            assert_eq!(serde_json::to_value(&read).unwrap(), patch, "it travels as it came");
        }
    }

    #[test]
    fn limits_that_limit_nothing_are_not_listed() {
        let patch = json!({"model_limits": {"a": {"requests_per_minute": null}, "c": {}}});
        let read: KeyPatch = serde_json::from_value(patch).unwrap();
        assert_eq!(read.apply(policy()).model_limits.into_keys().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn other_fields_and_zero_are_refused() {
        for patch in
            [json!({"used": 0}), json!({"limits": {"rpm": 1}}), json!({"limits": {"concurrency": 0}})]
        {
            assert!(serde_json::from_value::<KeyPatch>(patch.clone()).is_err(), "{patch}");
        }
    }

    #[test]
    fn a_new_keys_policy_comes_back_out() {
        let new = NewKey::with_policy("a".into(), policy());
        assert_eq!(new.into_policy(), ("a".into(), policy()));
    }
}
