//! SSRF-safe fetching of media: what users link to, and the results providers link to.
//!
//! Only http(s), no userinfo, only ports 80 and 443 unless the operator wrote the host out, only public addresses
//! (see `connect`), at most three redirects, each checked like the first URL; capped in bytes, time and slowness.
//! Sends no credential and no cookie. Every error text may be shown to a client: it names what the client or the
//! provider named, never an address that was resolved here.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::{Clock, CustomerId, UnixMs};
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, LOCATION, RANGE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use tokio::time::{Instant, timeout_at};
use url::{Host, Url};

use crate::client::address::reserved;
use crate::client::connect::{ConnectError, Private, is_private_allowed};
use crate::client::exchange::{self, AGENT, ExchangeError, Http, Payload, payload};
use crate::client::origin::{Origin, bare, has_login, is_within};
use crate::config::check;
use crate::config::settings::{ConfigError, FetchConfig, WebhooksConfig};
use crate::fetch::permits::{FetchPermit, FetchPermits};
use crate::fetch::stand_ins::stand_in;
use crate::providers::Providers;

/// What is wrong with addresses that are fetched from or posted to.
pub(super) const UNPARSED: FetchError = FetchError::BadUrl("it does not parse");
pub(super) const NO_ORIGIN: FetchError = FetchError::BadUrl("expected http or https");
pub(super) const LOGIN: FetchError = FetchError::BadUrl("it must not hold a user name or password");

/// The minimum rate counts from this age on.
const GRACE: Duration = Duration::from_secs(10);

/// Whose URL it is, which decides where it may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origins<'a> {
    /// A client's: anywhere public, and the operator's `fetch.allow_private`.
    User,
    /// A result of this provider: its `media_origins` only.
    Results(&'a str),
}

/// The bounds of one fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy<'a> {
    /// Where it may lead.
    pub origins: Origins<'a>,
    /// The largest body.
    pub max_bytes: u64,
    /// The longest time, redirects and body included.
    pub timeout: Duration,
    /// The most redirects that are followed.
    pub max_redirects: u8,
    /// First byte and last byte, when a part is enough. A server may send all of it instead.
    pub part: Option<(u64, u64)>,
    /// Whose link it is; the fetch then waits for one of this customer's permits.
    pub customer: Option<&'a CustomerId>,
}

impl<'a> Policy<'a> {
    /// Bounds with three redirects.
    #[must_use]
    pub const fn new(origins: Origins<'a>, max_bytes: u64, timeout: Duration) -> Self {
        Self { origins, max_bytes, timeout, max_redirects: 3, part: None, customer: None }
    }

    /// The same for a part, from its first to its last byte.
    #[must_use]
    pub const fn part(self, first: u64, last: u64) -> Self {
        Self { part: Some((first, last)), ..self }
    }
}

/// Why something could not be fetched, in words a client may read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// Not a URL this can fetch at all.
    #[error("not a URL that can be fetched: {0}")]
    BadUrl(&'static str),
    /// A result outside the provider's media origins.
    #[error("{0} is not among the provider's media origins")]
    ForeignOrigin(String),
    /// The provider is not configured.
    #[error("no provider {0:?} is configured")]
    NoProvider(String),
    /// It leads to a private or reserved address, or to no host at all. One error for both: the difference would tell
    /// which names the gateway's own network knows.
    #[error("{0} is not a public address or does not exist")]
    NotPublic(String),
    /// No connection.
    #[error("the server could not be reached")]
    Unreachable,
    /// The server answered with an error.
    #[error("the server answered {0}")]
    Status(u16),
    /// Too many redirects.
    #[error("it was redirected too often")]
    TooManyRedirects,
    /// Larger than allowed.
    #[error("it is larger than {} MiB", .0.div_ceil(1024 * 1024))]
    TooLarge(u64),
    /// Time was over, or it came too slowly.
    #[error("it did not arrive in time")]
    Timeout,
    /// The connection broke before the end.
    #[error("the connection broke before all of it had arrived")]
    Broken,
}

impl FetchError {
    /// Whether the same URL may well answer in a moment.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            // A name may not resolve for a moment.
            Self::NotPublic(_) | Self::Unreachable | Self::Timeout | Self::Broken => true,
            Self::Status(status) => matches!(status, 408 | 429 | 500..),
            _ => false,
        }
    }
}

/// What fetches. Cheap to clone.
#[derive(Clone)]
pub struct Fetcher {
    rules: Arc<FetchRules>,
    /// Their media origins say where results may come from.
    providers: Arc<Providers>,
}

/// What all fetches share.
struct FetchRules {
    /// For URLs of users.
    user: Outside,
    /// For addresses that webhooks and callbacks are posted to.
    posts: Outside,
    /// Bytes a second, below which a fetch is given up.
    min_rate: u64,
    /// For URLs of users.
    permits: FetchPermits,
    /// In sandbox mode, the folder of files for addresses of documentation.
    stand_ins: Option<String>,
}

/// Where addresses of clients and customers may lead: to public hosts, and to those that the operator wrote out.
pub(super) struct Outside {
    /// It keeps no connection: a kept one counts nowhere, and these addresses lead to any number of hosts.
    http: Http,
    private: Private,
}

impl Outside {
    fn new(private: Private, timeout: Duration, providers: &Providers) -> Self {
        Self { http: providers.shared().network.client(private.clone(), timeout, 0), private }
    }

    /// Whether the operator wrote out that host, which may be private then.
    pub(super) fn is_private_allowed(&self, origin: &Origin) -> bool {
        is_private_allowed(&self.private, origin.bare_host(), origin.port)
    }

    /// Refuses a host that is written out as an address that is not public, or has a name that no public host has. What other
    /// names resolve to shows when they are connected to.
    pub(super) fn check_host(&self, url: &Url, origin: &Origin) -> Result<(), FetchError> {
        let is_inside = match url.host() {
            Some(Host::Ipv4(address)) => reserved(address.into()).is_some(),
            Some(Host::Ipv6(address)) => reserved(address.into()).is_some(),
            Some(Host::Domain(name)) => is_never_public(name),
            None => false,
        };
        if is_inside && !self.is_private_allowed(origin) {
            return Err(FetchError::NotPublic(origin.bare_host().to_owned()));
        }
        Ok(())
    }

    /// The client that may connect to `origin`, as far as its port says.
    pub(super) fn client(&self, origin: &Origin) -> Result<Http, FetchError> {
        if matches!(origin.port, 80 | 443) || self.is_private_allowed(origin) {
            Ok(self.http.clone())
        } else {
            Err(FetchError::BadUrl("only ports 80 and 443 are allowed"))
        }
    }
}

impl Fetcher {
    pub(crate) fn new(
        config: &FetchConfig,
        webhooks: &WebhooksConfig,
        providers: Arc<Providers>,
    ) -> Result<Self, ConfigError> {
        let timeout = check::span("fetch.connect_timeout_ms".to_owned(), config.connect_timeout_ms)?;
        let user = check::private_hosts("fetch.allow_private", &config.allow_private)?;
        let posts = check::private_hosts("webhooks.allow_private", &webhooks.allow_private)?;
        let rules = FetchRules {
            user: Outside::new(user, timeout, &providers),
            posts: Outside::new(posts, timeout, &providers),
            min_rate: config.min_bytes_per_second,
            permits: FetchPermits::new(check::fetch_limits(config)?),
            stand_ins: config.stand_ins.clone(),
        };
        Ok(Self { rules: Arc::new(rules), providers })
    }

    /// The same for results of those providers.
    pub(crate) fn of(&self, providers: Arc<Providers>) -> Self {
        Self { rules: Arc::clone(&self.rules), providers }
    }

    pub(super) fn clock(&self) -> &Arc<dyn Clock> {
        &self.providers.shared().clock
    }

    /// For addresses that are posted to.
    pub(super) fn posts(&self) -> &Outside {
        &self.rules.posts
    }

    /// Fetches `url` as far as the head of the answer; the body is pulled from [`Fetched`]. A link of a customer waits for
    /// permits first, whose number is bounded for the customer, for each host and in all; the wait counts in no limit.
    pub async fn fetch(&self, url: &str, policy: &Policy<'_>) -> Result<Fetched, FetchError> {
        let mut permit = match policy.customer {
            Some(customer) => Some(self.rules.permits.acquire(customer).await),
            None => None,
        };
        let mut deadline = Instant::now() + policy.timeout;
        let mut age = Age::new(Arc::clone(self.clock()));
        let mut url = Url::parse(url).map_err(|_| UNPARSED)?;
        // A stand-in is fetched where the link itself might be.
        self.client_for(&url, policy.origins)?;
        let stand_ins = self.rules.stand_ins.as_ref().filter(|_| policy.origins == Origins::User);
        if let Some(stand_in) = stand_ins.and_then(|samples| stand_in(samples, &url)) {
            url = stand_in;
        }
        for _ in 0..=policy.max_redirects {
            let http = self.client_for(&url, policy.origins)?;
            if let Some(permit) = &mut permit {
                let (waits, began) = (Instant::now(), age.clock.now());
                permit.go_to(url.host_str().unwrap_or_default()).await;
                deadline += waits.elapsed();
                age.leave_out_since(began);
            }
            let response = exchange::send(&http, get(&url, policy.part)?, deadline)
                .await
                .map_err(|error| FetchError::of(error, &url))?;
            match next_hop(&url, &response)? {
                Some(next) => url = next,
                None => return self.accept(response, policy, deadline, age, permit),
            }
        }
        Err(FetchError::TooManyRedirects)
    }

    /// Checks a link of a client that a provider is to fetch, as far as it can be without a name server: nobody is sent where
    /// the gateway itself would not go.
    ///
    /// # Errors
    /// As for a fetch of it.
    pub fn check_url(&self, url: &str) -> Result<(), FetchError> {
        let url = Url::parse(url).map_err(|_| UNPARSED)?;
        self.client_for(&url, Origins::User)?;
        let origin = Origin::of(&url).ok_or(NO_ORIGIN)?;
        // A name of one label is completed by whichever network resolves it.
        let is_of_one_label = url.domain().is_some_and(|name| !name.trim_end_matches('.').contains('.'));
        if is_of_one_label && !self.rules.user.is_private_allowed(&origin) {
            return Err(FetchError::NotPublic(origin.bare_host().to_owned()));
        }
        self.rules.user.check_host(&url, &origin)
    }

    /// The client that may fetch `url`, if it may be fetched at all.
    fn client_for(&self, url: &Url, origins: Origins<'_>) -> Result<Http, FetchError> {
        let origin = Origin::of(url).ok_or(NO_ORIGIN)?;
        if has_login(url) {
            return Err(LOGIN);
        }
        match origins {
            Origins::User => self.rules.user.client(&origin),
            Origins::Results(name) => {
                let pool = self.providers.get(name).ok_or_else(|| FetchError::NoProvider(name.to_owned()))?;
                let provider = pool.provider();
                if provider.checked.media_origins.iter().any(|pattern| pattern.covers(&origin)) {
                    Ok(provider.media.clone())
                } else {
                    Err(FetchError::ForeignOrigin(origin.to_string()))
                }
            }
        }
    }

    fn accept(
        &self,
        response: Response<Incoming>,
        policy: &Policy<'_>,
        deadline: Instant,
        age: Age,
        permit: Option<FetchPermit>,
    ) -> Result<Fetched, FetchError> {
        let announced = response.body().size_hint().exact();
        let is_part = response.status() == http::StatusCode::PARTIAL_CONTENT;
        let (first, total) = match (response.status(), policy.part) {
            (http::StatusCode::OK, _) => (0, announced),
            (http::StatusCode::PARTIAL_CONTENT, Some(_)) => {
                let (first, total) = content_range(response.headers()).ok_or(FetchError::Broken)?;
                (first, Some(total))
            }
            (status, _) => return Err(FetchError::Status(status.as_u16())),
        };
        let (head, body) = response.into_parts();
        // Of what should have been a part, the caller takes what it wants.
        if policy.part.is_none() && body.size_hint().lower() > policy.max_bytes {
            return Err(FetchError::TooLarge(policy.max_bytes));
        }
        let mime = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        Ok(Fetched {
            mime: mime.map(|mime| mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()),
            is_part,
            first,
            total,
            body,
            taken: 0,
            max_bytes: policy.max_bytes,
            deadline,
            age,
            min_rate: self.rules.min_rate,
            _permit: permit,
        })
    }
}

/// How long a fetch takes, by the clock of the gateway, without its waits for permits.
struct Age {
    clock: Arc<dyn Clock>,
    began: UnixMs,
    /// How much of the time since then it has waited.
    waited: Duration,
}

impl Age {
    /// That of a fetch which begins now.
    fn new(clock: Arc<dyn Clock>) -> Self {
        Self { began: clock.now(), clock, waited: Duration::ZERO }
    }

    /// The fetch has waited since then.
    fn leave_out_since(&mut self, moment: UnixMs) {
        self.waited += self.since(moment);
    }

    fn elapsed(&self) -> Duration {
        self.since(self.began).saturating_sub(self.waited)
    }

    /// What has gone by: a clock that was set forward makes no fetch slow.
    fn since(&self, moment: UnixMs) -> Duration {
        self.clock.now().since(moment).saturating_sub(self.clock.skipped(moment))
    }
}

/// A body on its way. Dropping it ends the fetch.
pub struct Fetched {
    /// What the server says it is: lower case, without parameters. Not to be trusted.
    pub mime: Option<String>,
    /// Whether the body is a part that was asked for, and not all of it.
    pub is_part: bool,
    /// Where the body begins in the whole: 0, unless it is a part that was asked for.
    pub first: u64,
    /// The length of the whole, when the server says it.
    pub total: Option<u64>,
    body: Incoming,
    taken: u64,
    max_bytes: u64,
    deadline: Instant,
    age: Age,
    min_rate: u64,
    /// Held as long as its connection.
    _permit: Option<FetchPermit>,
}

impl Fetched {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// See [`FetchError`]; nothing more comes after one.
    pub async fn next(&mut self) -> Result<Option<Bytes>, FetchError> {
        loop {
            // A server that goes silent is caught here too, long before the deadline.
            let silence = self.deadline.min(Instant::now() + GRACE);
            let frame = match timeout_at(silence, self.body.frame()).await {
                Err(_) => return Err(FetchError::Timeout),
                Ok(None) => return Ok(None),
                Ok(Some(Err(_))) => return Err(FetchError::Broken),
                Ok(Some(Ok(frame))) => frame,
            };
            let Ok(data) = frame.into_data() else { continue };
            self.taken += data.len() as u64;
            if self.taken > self.max_bytes {
                return Err(FetchError::TooLarge(self.max_bytes));
            }
            let age = self.age.elapsed();
            if age > GRACE && self.taken < age.as_secs() * self.min_rate {
                return Err(FetchError::Timeout);
            }
            return Ok(Some(data));
        }
    }

    /// The whole body in memory.
    pub async fn collect(mut self) -> Result<Bytes, FetchError> {
        let mut all = bytes::BytesMut::new();
        while let Some(piece) = self.next().await? {
            all.extend_from_slice(&piece);
        }
        Ok(all.freeze())
    }
}

/// Ends of names that lead into a network and never out of it (RFC 6761, 6762, 8375, and ICANN's reservation of `internal`);
/// metadata of clouds is served under some of them.
const INSIDE: [&str; 6] = ["localhost", "internal", "local", "localdomain", "home.arpa", "lan"];

/// Whether a name can be no public host's.
fn is_never_public(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    INSIDE.into_iter().any(|end| is_within(&name, end))
}

fn get(url: &Url, part: Option<(u64, u64)>) -> Result<Request<Payload>, FetchError> {
    let mut request = request(url, Bytes::new())?;
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    if let Some((first, last)) = part {
        let range = HeaderValue::from_str(&format!("bytes={first}-{last}"));
        headers.insert(RANGE, range.map_err(|_| UNPARSED)?);
    }
    Ok(request)
}

/// A request for `url` that says what all of them say.
pub(super) fn request(url: &Url, body: Bytes) -> Result<Request<Payload>, FetchError> {
    let mut request = Request::new(payload(body));
    // The fragment is not sent; hyper takes path and query only.
    *request.uri_mut() = url.as_str().parse().map_err(|_| UNPARSED)?;
    let headers = request.headers_mut();
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    Ok(request)
}

/// First byte and total of `bytes 0-99/1234`.
fn content_range(headers: &HeaderMap) -> Option<(u64, u64)> {
    let (range, total) =
        headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?.split_once('/')?;
    Some((range.split_once('-')?.0.parse().ok()?, total.parse().ok()?))
}

/// Where a redirect leads; `None` when the answer is none.
fn next_hop(from: &Url, response: &Response<Incoming>) -> Result<Option<Url>, FetchError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let location = location.ok_or(FetchError::BadUrl("it redirects to nowhere"))?;
    from.join(location).map(Some).map_err(|_| FetchError::BadUrl("it redirects to an invalid URL"))
}

impl FetchError {
    pub(super) fn of(error: ExchangeError, url: &Url) -> Self {
        match error {
            ExchangeError::NotSent(ConnectError::NotPublic { .. }) | ExchangeError::NoHost(_) => {
                Self::NotPublic(bare(url.host_str().unwrap_or_default()).to_owned())
            }
            ExchangeError::NotSent(_) | ExchangeError::NoConnection(_) => Self::Unreachable,
            ExchangeError::Timeout => Self::Timeout,
            ExchangeError::Broken(_) | ExchangeError::Unread(_) => Self::Broken,
        }
    }
}
