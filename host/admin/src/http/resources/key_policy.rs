//! What of a key an operator decides, as the API reads and writes it.

use std::collections::BTreeMap;

use gatehouse_model::{ChatFormat, Credits, KeyPolicy, Limits};
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::api::values::{Moment, Period};
use crate::error::ApiError;

/// What an edit of a key may change. `null` takes a limit away.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ApiKeyPolicy")]
pub(super) struct PolicyView {
    /// 1 to 100 bytes of plain text.
    #[serde(default)]
    pub(super) name: String,
    /// Spending limit, zero or more; null is unlimited.
    #[serde(default)]
    pub(super) quota_micro: Option<i64>,
    /// How often the quota resets; null is never. Another period begins with nothing used.
    #[serde(default)]
    pub(super) quota_period: Option<Period>,
    /// Its customer's webhooks get `quota.reached` once so many percent of its quota are used, 1 to 100; null tells nothing.
    #[serde(default)]
    pub(super) quota_alert_percent: Option<u8>,
    /// Models it may use; empty or null means all.
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) models: Vec<String>,
    /// Networks it may be used from, such as `10.0.0.0/8`, or addresses; empty or null means all.
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) networks: Vec<String>,
    /// When it stops working.
    #[serde(default)]
    pub(super) expires: Option<Moment>,
    /// Form of chat completions, where a request does not choose.
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) chat_format: ChatFormat,
    /// How fast and how much at a time, of all models together.
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) limits: Limits,
    /// The same of single models, by id or alias.
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) model_limits: BTreeMap<String, Limits>,
}

/// Every limit of a key: its name in the API, and what it means. The options of commands are made of it.
#[must_use]
pub fn key_limits() -> Vec<(String, String)> {
    let schema = schemars::schema_for!(Limits);
    let limits = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let meaning = |limit: &Value| limit["description"].as_str().unwrap_or_default().to_owned();
    limits.map(|(name, limit)| (name.clone(), meaning(limit))).collect()
}

impl PolicyView {
    pub(super) fn of(policy: KeyPolicy) -> Self {
        let KeyPolicy {
            name,
            quota,
            quota_period,
            quota_alert,
            models,
            networks,
            expires,
            chat_format,
            limits,
            model_limits,
        } = policy;
        Self {
            name,
            quota_micro: quota.map(|quota| quota.0),
            quota_period: quota_period.map(Period),
            quota_alert_percent: quota_alert,
            models,
            networks: networks.iter().map(ToString::to_string).collect(),
            expires: expires.map(Moment),
            chat_format,
            limits,
            model_limits,
        }
    }

    /// The policy it says.
    pub(super) fn policy(self) -> Result<KeyPolicy, ApiError> {
        Ok(KeyPolicy {
            name: self.name,
            quota: self.quota_micro.map(Credits),
            quota_period: self.quota_period.map(|period| period.0),
            quota_alert: self.quota_alert_percent,
            models: self.models,
            networks: networks(&self.networks)?,
            expires: self.expires.map(|expires| expires.0),
            chat_format: self.chat_format,
            limits: self.limits,
            // A model without any limit has none of its own.
            model_limits: self.model_limits.into_iter().filter(|(_, limits)| !limits.is_empty()).collect(),
        })
    }
}

/// `null` as nothing.
fn or_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Networks, and single addresses.
fn networks(texts: &[String]) -> Result<Vec<IpNet>, ApiError> {
    let read = |(at, text): (usize, &String)| {
        let network = text.parse::<IpNet>().ok();
        network.or_else(|| Some(IpNet::from(text.parse::<std::net::IpAddr>().ok()?))).ok_or_else(|| {
            let field = format!("networks[{at}]");
            let message =
                format!("{field}: expected a network such as 10.0.0.0/8 or an address, got {text:?}");
            ApiError::field(field, message)
        })
    };
    texts.iter().enumerate().map(read).collect()
}
