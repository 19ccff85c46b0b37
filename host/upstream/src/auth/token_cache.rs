//! The access token of one service account: issued once for all calls, renewed before it expires, dropped when the
//! provider refuses it.
//!
//! ```text
//!          issued         refresh_at           expires_at
//!   none -----|--- valid ---|--- valid, renewed ---|--- none: calls wait for the renewal
//! ```
//!
//! At most one exchange with the token endpoint is under way, whatever the number of calls; it outlives the call that
//! began it. After a failure the next one waits, longer each time, and calls fail meanwhile with the same reason unless
//! the token in hand is still valid. `refresh_at` is spread by chance, so that accounts and gateways do not renew together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use gatehouse_model::{Secret, UnixMs, metric};
use tokio::time::{Instant, timeout_at};

use crate::auth::redact::Redactor;
use crate::auth::token_endpoint::{self, Grant, Issued, TokenAccess, TokenError};
use crate::breaker::backoff;

/// The most that a token is renewed ahead of its end; spread up to twice as much.
const AHEAD: Duration = Duration::from_secs(300);
/// A token is not used for this long before its end: a call takes time, and clocks differ.
const MARGIN: Duration = Duration::from_secs(30);
/// A token that is younger was not revoked; a refusal of it is about the account.
const YOUNG: Duration = Duration::from_secs(60);
/// The first and the longest pause after a failure.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// The token of one account, and how to get the next.
pub(crate) struct TokenCache {
    provider: String,
    account: String,
    grant: Grant,
    state: Mutex<State>,
}

/// One token. Its text and the redactor for it.
pub(crate) struct Token {
    pub(crate) text: Secret<String>,
    pub(crate) redactor: Arc<Redactor>,
    issued_at: UnixMs,
    refresh_at: UnixMs,
    expires_at: UnixMs,
}

/// A token as one call uses it.
pub(crate) struct TokenInUse {
    pub(crate) token: Arc<Token>,
    cache: Arc<TokenCache>,
}

/// The exchange under way; every call that waits holds a copy.
type Refresh = Shared<BoxFuture<'static, Result<Arc<Token>, TokenError>>>;

#[derive(Default)]
struct State {
    token: Option<Arc<Token>>,
    refresh: Option<Refresh>,
    failure: Option<TokenError>,
    failures: u32,
    /// No exchange begins before.
    not_before: UnixMs,
}

/// What there is at once.
enum Found {
    Token(Arc<Token>),
    Wait(Refresh),
}

impl TokenCache {
    pub(crate) fn new(provider: &str, account: &str, grant: Grant) -> Arc<Self> {
        let (provider, account) = (provider.to_owned(), account.to_owned());
        Arc::new(Self { provider, account, grant, state: Mutex::default() })
    }

    /// A valid token: the one in hand, or the next one, awaited until `deadline`.
    pub(crate) async fn token(
        self: &Arc<Self>,
        access: &TokenAccess,
        deadline: Instant,
    ) -> Result<TokenInUse, TokenError> {
        let token = match self.look(access)? {
            Found::Token(token) => token,
            Found::Wait(refresh) => timeout_at(deadline, refresh)
                .await
                .map_err(|_| TokenError::unavailable("the call's time was over before there was one"))??,
        };
        Ok(TokenInUse { token, cache: Arc::clone(self) })
    }

    fn look(self: &Arc<Self>, access: &TokenAccess) -> Result<Found, TokenError> {
        let now = access.clock.now();
        let mut state = self.lock();
        let valid = state.token.clone().filter(|token| now < token.expires_at);
        if let Some(token) = valid.as_ref().filter(|token| now < token.refresh_at) {
            return Ok(Found::Token(Arc::clone(token)));
        }
        let refresh = match state.refresh.clone() {
            None if now >= state.not_before => Some(self.begin(&mut state, access, now)),
            under_way => under_way,
        };
        match (valid, refresh) {
            (Some(token), _) => Ok(Found::Token(token)),
            (None, Some(refresh)) => Ok(Found::Wait(refresh)),
            (None, None) => {
                let failure = state.failure.clone();
                Err(failure.unwrap_or_else(|| TokenError::unavailable("none was issued")))
            }
        }
    }

    fn begin(self: &Arc<Self>, state: &mut State, access: &TokenAccess, now: UnixMs) -> Refresh {
        let (cache, access) = (Arc::clone(self), access.clone());
        let exchange = async move {
            let outcome = token_endpoint::fetch(&access.http, &cache.grant, now).await;
            cache.settle(outcome, now, &access)
        };
        let refresh = exchange.boxed().shared();
        state.refresh = Some(refresh.clone());
        // Driven apart from the calls that wait: any of them may be cancelled.
        tokio::spawn(refresh.clone());
        refresh
    }

    /// Keeps the outcome of the exchange that began at `began`.
    fn settle(
        &self,
        outcome: Result<Issued, TokenError>,
        began: UnixMs,
        access: &TokenAccess,
    ) -> Result<Arc<Token>, TokenError> {
        let chance = access.seed.unit();
        let mut state = self.lock();
        state.refresh = None;
        match outcome {
            Ok(issued) => {
                let token = Arc::new(Token::new(issued, began, chance));
                state.token = Some(Arc::clone(&token));
                (state.failures, state.failure) = (0, None);
                Ok(token)
            }
            Err(error) => {
                let pause = backoff(PAUSES.0, PAUSES.1, state.failures, chance);
                state.not_before = access.clock.now().plus(pause);
                state.failures = state.failures.saturating_add(1);
                state.failure = Some(error.clone());
                drop(state);
                let (provider, account) = (&self.provider, &self.account);
                tracing::error!(provider, account, %error, "the account's token was not renewed");
                metrics::counter!(metric::ACCOUNT_ERRORS, "provider" => provider.clone(), "account" => account.clone())
                    .increment(1);
                Err(error)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change under this lock is complete in itself, so a panic elsewhere leaves it usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Token {
    fn new(issued: Issued, began: UnixMs, chance: f64) -> Self {
        let Issued { text, lifetime } = issued;
        let ahead = AHEAD.min(lifetime / 4);
        Self {
            redactor: Arc::new(Redactor::of(Some(&text))),
            text,
            issued_at: began,
            refresh_at: began.plus(lifetime.saturating_sub(ahead + ahead.mul_f64(chance.clamp(0.0, 1.0)))),
            expires_at: began.plus(lifetime.saturating_sub(MARGIN.min(lifetime / 10))),
        }
    }
}

impl TokenInUse {
    /// The provider refused this token. Drops it, and returns whether another one may do better: a token that was just
    /// issued is not refused for its age.
    pub(crate) fn drop_refused(&self, now: UnixMs) -> bool {
        if now.since(self.token.issued_at) < YOUNG {
            return false;
        }
        let mut state = self.cache.lock();
        // Another call may have had it replaced already.
        if state.token.as_ref().is_some_and(|token| Arc::ptr_eq(token, &self.token)) {
            state.token = None;
        }
        true
    }
}

/// Equal where both ask for the same tokens with the same key.
impl PartialEq for TokenCache {
    fn eq(&self, other: &Self) -> bool {
        self.grant == other.grant
    }
}
