//! What a person who logged in may do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a session may do. The later one includes the earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reads, but no prompts; changes nothing.
    Viewer,
    /// Does everything.
    #[default]
    Operator,
}

impl Role {
    /// Its word in commands and pages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "viewer" => Ok(Self::Viewer),
            "operator" => Ok(Self::Operator),
            other => Err(format!("expected viewer or operator, got {other:?}")),
        }
    }
}
