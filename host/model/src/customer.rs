//! Customers and their API keys: balances, limits and permissions.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::apikey::KeyDigest;
use crate::credits::Credits;
use crate::ids::{CustomerId, KeyId};
use crate::time::UnixMs;

/// A customer's balances. `available + reserved + spent` always equals `deposited`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Customer {
    /// Its id.
    pub id: CustomerId,
    /// When it was opened.
    pub created: UnixMs,
    /// Free to be held.
    pub available: Credits,
    /// Held for requests under way.
    pub reserved: Credits,
    /// Settled.
    pub spent: Credits,
    /// Everything ever paid in, less what was taken back.
    pub deposited: Credits,
}

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
    /// Spending limit; `None` is unlimited (the account still bounds it).
    pub quota: Option<Credits>,
    /// Held plus settled through this key.
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
}

/// How a chat completion is answered (spec/decisions.md, "Chat completions").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatFormat {
    /// Within `{code, data}`.
    #[default]
    Wrapped,
    /// The object itself, as the protocol's own clients expect.
    Bare,
}

impl ChatFormat {
    /// Its word in commands, headers and outputs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wrapped => "wrapped",
            Self::Bare => "bare",
        }
    }
}

impl std::str::FromStr for ChatFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "wrapped" => Ok(Self::Wrapped),
            "bare" => Ok(Self::Bare),
            other => Err(format!("expected wrapped or bare, got {other:?}")),
        }
    }
}

impl Key {
    /// What is left of the quota; `None` when there is no quota.
    #[must_use]
    pub fn remaining(&self) -> Option<Credits> {
        self.quota.map(|quota| quota.checked_sub(self.used).unwrap_or(Credits::ZERO))
    }
}
