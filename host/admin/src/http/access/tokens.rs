//! The two bearer tokens of a gateway: the operator's, as commands use it, and the viewer's.

use gatehouse_model::Seed;
use http::header::{AUTHORIZATION, USER_AGENT};
use http::request::Parts;

use super::caller::{Authenticator, Claimed, Role};
use crate::token::Token;

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
