//! Senders of requests and what they may do: the bearer token, callers with their roles, and failed logins by address.
//!
//! An address may fail ten times a minute; then refusals cost nothing and leave no trace. Only failures count, and only
//! failures are refused: a valid credential always works, so that a local program without one cannot keep the operator out. A
//! token has 256 random bits; what is limited is the work and the audit lines that guesses cause. What only a call can tell, an
//! answer of an identity provider, is not asked of an address with too many.
//!
//! A sender has its credential's name, its role and its address. A [`Claim`] is what one kind of credential says; the router
//! asks for the token first and then for the session. The two bearer tokens of a gateway are one kind: the operator's, as
//! commands use it, and the viewer's.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_model::{Secret, Seed, UnixMs, words};
use http::header::{AUTHORIZATION, USER_AGENT};
use http::request::Parts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::api::error::OperationError;
use crate::api::values::{Moment, Revealed};

/// Failures of an address within [`WINDOW`].
const MAX_FAILURES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// Addresses remembered at once; what is over it shares one count.
const MAX_ADDRESSES: usize = 4096;

/// The failures of the present windows.
#[derive(Debug, Default)]
pub(crate) struct FailedAttempts(Mutex<BTreeMap<Network, (UnixMs, u32)>>);

/// Addresses that one program can choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Network {
    Loopback,
    V4([u8; 4]),
    V6([u8; 8]),
    Overflow,
}

impl Network {
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            address if address.is_loopback() => Self::Loopback,
            IpAddr::V4(address) => Self::V4(address.octets()),
            IpAddr::V6(address) => {
                let mut network = [0; 8];
                network.copy_from_slice(&address.octets()[..8]);
                Self::V6(network)
            }
        }
    }
}

impl FailedAttempts {
    /// Whether a failure would still count. Counts nothing.
    ///
    /// # Errors
    /// There were too many: how long until the next one counts again.
    pub(crate) fn check(&self, address: IpAddr, now: UnixMs) -> Result<(), Duration> {
        let windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.get(&Network::of(address)).or_else(|| {
            let is_full = windows.len() >= MAX_ADDRESSES;
            windows.get(&Network::Overflow).filter(|_| is_full)
        });
        let left = window.filter(|(_, failures)| *failures >= MAX_FAILURES);
        match left.map(|(begun, _)| WINDOW.saturating_sub(now.since(*begun))) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => Ok(()),
        }
    }

    /// Counts a failure.
    ///
    /// # Errors
    /// There were too many: how long until the next one counts again.
    pub(crate) fn fail(&self, address: IpAddr, now: UnixMs) -> Result<(), Duration> {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut network = Network::of(address);
        if !windows.contains_key(&network) && windows.len() >= MAX_ADDRESSES {
            windows.retain(|_, (begun, _)| now.since(*begun) < WINDOW);
            if windows.len() >= MAX_ADDRESSES {
                network = Network::Overflow;
            }
        }
        let (begun, failures) = windows.entry(network).or_insert((now, 0));
        if now.since(*begun) >= WINDOW {
            (*begun, *failures) = (now, 0);
        }
        if *failures >= MAX_FAILURES {
            return Err(WINDOW.saturating_sub(now.since(*begun)));
        }
        *failures += 1;
        Ok(())
    }
}

words! {
    /// What a credential allows.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Role {
        /// Reads everything but prompts and secrets; changes nothing.
        Viewer = "viewer",
        /// Everything.
        #[default]
        Operator = "operator",
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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

/// What a valid credential says of the sender of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claimed {
    /// Its name for the audit record.
    pub(crate) who: String,
    /// What it may do.
    pub(crate) role: Role,
    /// The number of its session; absent where a token is the credential.
    pub(crate) session: Option<u64>,
}

/// What the credential of one kind says of the sender of a request. None where the request has no credential of this kind; an
/// error where it is not valid, or valid but not for this request.
pub(crate) type Claim = Result<Option<Claimed>, &'static str>;

/// A login link of the console. Works once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LoginLink")]
pub struct LoginLinkView {
    /// The same link under every name that a browser on the gateway's machine may use, the best first.
    #[schemars(with = "Vec<String>")]
    pub urls: Vec<Revealed>,
    /// What it allows.
    pub role: Role,
    /// When it stops working.
    pub expires: Moment,
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

    /// What the `Authorization` header of a request says of its sender.
    pub(crate) fn claim(&self, head: &Parts) -> Claim {
        let Some(presented) = head.headers.get(AUTHORIZATION) else { return Ok(None) };
        let presented = presented.to_str().unwrap_or_default();
        // Both are compared whatever the first comparison says.
        let (operator, viewer) = (self.operator.matches(presented), self.viewer.matches(presented));
        let of_token = |who: &str, role| Ok(Some(Claimed { who: who.to_owned(), role, session: None }));
        match (operator, viewer) {
            (true, _) => {
                let agent = head.headers.get(USER_AGENT);
                let is_command = agent.is_some_and(|agent| agent == COMMAND_LINE);
                let who = if is_command { "command line" } else { "operator token" };
                of_token(who, Role::Operator)
            }
            (_, true) => of_token("viewer token", Role::Viewer),
            _ => Err("the bearer token is not one of this gateway's"),
        }
    }
}

/// A token, new at each start; it allows every operation.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Token(Secret<String>);

impl Token {
    /// A fresh token of 256 random bits.
    #[must_use]
    pub fn mint(seed: &dyn Seed) -> Self {
        let mut bytes = [0; 32];
        seed.fill(&mut bytes);
        Self(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Whether an `Authorization` header holds this token; compared in constant time.
    #[must_use]
    pub fn matches(&self, authorization: &str) -> bool {
        let Some((scheme, presented)) = authorization.split_once(' ') else { return false };
        scheme.eq_ignore_ascii_case("bearer")
            && bool::from(self.0.expose().as_bytes().ct_eq(presented.trim().as_bytes()))
    }

    /// The token as text, for the endpoint file and the `Authorization` header.
    pub(crate) fn reveal(&self) -> &str {
        self.0.expose()
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_harness::TestSeed;

    use super::*;

    fn failures(attempts: &FailedAttempts, address: &str, seconds: u64, times: usize) -> usize {
        let now = UnixMs(seconds * 1000);
        (0..times).filter(|_| attempts.fail(address.parse().unwrap(), now).is_ok()).count()
    }

    #[test]
    fn ten_failures_a_minute_and_address() {
        let attempts = FailedAttempts::default();
        assert_eq!(failures(&attempts, "10.0.0.1", 100, 14), 10);
        assert_eq!(failures(&attempts, "10.0.0.2", 100, 14), 10);
        assert_eq!(failures(&attempts, "10.0.0.1", 159, 1), 0);
        let check = |address: &str, at| attempts.check(address.parse().unwrap(), UnixMs(at));
        let wait = Err(Duration::from_secs(1));
        assert_eq!(attempts.fail("10.0.0.1".parse().unwrap(), UnixMs(159_000)), wait);
        assert_eq!([159_000, 160_000].map(|at| check("10.0.0.1", at)), [wait, Ok(())]);
        assert_eq!(check("10.0.0.3", 100_000), Ok(()));
        assert_eq!(failures(&attempts, "10.0.0.1", 160, 14), 10);
        // A program chooses its own address of these.
        assert_eq!(failures(&attempts, "127.0.0.1", 100, 6) + failures(&attempts, "127.9.9.9", 100, 6), 10);
        assert_eq!(failures(&attempts, "::1", 100, 6), 0);
        assert_eq!(
            failures(&attempts, "2001:db8::1", 100, 6) + failures(&attempts, "2001:db8::2", 100, 6),
            10
        );
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let attempts = FailedAttempts::default();
        let address = |number: u32| IpAddr::from((0x0b00_0000 + number).to_be_bytes());
        let many = u32::try_from(MAX_ADDRESSES).unwrap();
        for number in 0..many {
            attempts.fail(address(number), UnixMs(0)).unwrap();
        }
        assert_eq!(
            (many..many + 30).filter(|number| attempts.fail(address(*number), UnixMs(1)).is_ok()).count(),
            10
        );
        assert!(attempts.0.lock().unwrap().len() <= MAX_ADDRESSES + 1);
        attempts.fail(address(many), UnixMs(60_000)).unwrap();
        assert!(attempts.0.lock().unwrap().len() <= 3);
    }

    #[test]
    fn a_token_does_not_print() {
        let token = Token::mint(&TestSeed::constant(0xab));
        assert!(!format!("{token:?}").contains(token.reveal()));
    }
}
