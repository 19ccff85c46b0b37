//! The sender of a request: its credential's name, its role, its address. An [`Authenticator`] reads one kind of
//! credential; the router asks each of them in turn. The two bearer
//! tokens of a gateway are one: the operator's, as commands use it, and the viewer's.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use gatehouse_model::Seed;
use http::header::{AUTHORIZATION, USER_AGENT};
use http::request::Parts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::error::OperationError;
use crate::api::values::{Moment, Revealed};
use crate::token::Token;

/// What a credential allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reads everything but prompts and secrets; changes nothing.
    Viewer,
    /// Everything.
    #[default]
    Operator,
}

impl Role {
    /// Its word in the audit record, in files and in documentation.
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

/// The sender of a request with a valid credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The credential, as the audit record names it. Never the credential itself.
    pub who: String,
    /// What it allows.
    pub role: Role,
    /// The peer's address. Behind a proxy it is the proxy's.
    pub address: IpAddr,
}

/// What an authenticator says of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// It carries no credential of this kind; the next authenticator is asked.
    Nothing,
    /// A valid one: its name for the audit record, and its role.
    Valid {
        /// The credential's name.
        who: String,
        /// What it allows.
        role: Role,
    },
    /// One that is not valid, or is valid but not for this request.
    Refused(&'static str),
}

/// Reads one kind of credential: bearer tokens, sessions.
pub(crate) trait Authenticator: Send + Sync {
    /// What the head of a request says of its sender.
    fn authenticate(&self, head: &Parts) -> Claimed;
}

/// A login link of the console. Works once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LoginLink")]
pub(crate) struct LoginLinkView {
    /// The same link under every name that a browser on the gateway's machine may use, the best first.
    #[schemars(with = "Vec<String>")]
    pub(crate) urls: Vec<Revealed>,
    /// What it allows.
    pub(crate) role: Role,
    /// When it stops working.
    pub(crate) expires: Moment,
}

/// Makes login links of the console. Only a listener has one.
pub(crate) trait LoginLinks: Send + Sync {
    /// A link for one person with this role.
    fn new_link(&self, role: Role) -> Result<LoginLinkView, OperationError>;
}

/// The agent that the command line names itself as. The audit record tells its requests from those of other programs with
/// the same token, which could use the name: both are the operator's.
pub(crate) const COMMAND_LINE: &str = "gatehouse-command-line";

/// One token for each role, new at each start.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// Allows everything.
    pub operator: Token,
    /// Allows to read.
    pub viewer: Token,
}

impl Tokens {
    /// Two fresh tokens.
    #[must_use]
    pub fn mint(seed: &dyn Seed) -> Self {
        Self { operator: Token::mint(seed), viewer: Token::mint(seed) }
    }
}

impl Authenticator for Tokens {
    fn authenticate(&self, head: &Parts) -> Claimed {
        let Some(presented) = head.headers.get(AUTHORIZATION) else { return Claimed::Nothing };
        let presented = presented.to_str().unwrap_or_default();
        // Both are compared whatever the first comparison says.
        let (operator, viewer) = (self.operator.matches(presented), self.viewer.matches(presented));
        match (operator, viewer) {
            (true, _) => {
                let agent = head.headers.get(USER_AGENT);
                let is_command = agent.is_some_and(|agent| agent == COMMAND_LINE);
                let who = if is_command { "command line" } else { "operator token" };
                Claimed::Valid { who: who.to_owned(), role: Role::Operator }
            }
            (_, true) => Claimed::Valid { who: "viewer token".to_owned(), role: Role::Viewer },
            _ => Claimed::Refused("the bearer token is not one of this gateway's"),
        }
    }
}
