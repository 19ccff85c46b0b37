//! The sessions of one listener: opened by a login link, found by their cookie, ended by idleness, age or a person.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gatehouse_model::{Clock, Digest, Seed, UnixMs};
use gatehouse_net::reachable;
use http::header::{ACCEPT, AUTHORIZATION};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::sync::watch;

use super::cookie;
use super::cookie::SessionCookie;
use super::login_links::{LoginLinks, LoginRefusal, digest_of, random_text};
use crate::access::{Claim, Claimed, FailedAttempts, LoginLinkView, Role};
use crate::api::values::Revealed;

/// A session ends this long after its last request.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// A session ends this long after its login.
const LIFE: Duration = Duration::from_secs(12 * 60 * 60);
/// Sessions at once; one more ends the one that was used least recently.
const MOST: usize = 100;
/// Between two looks of a stream of events whether the time of its session is over.
const LOOK: Duration = Duration::from_secs(3);

/// Login links and sessions, in memory.
pub struct Sessions {
    address: SocketAddr,
    is_tls: bool,
    cookie: SessionCookie,
    clock: Arc<dyn Clock>,
    seed: Arc<dyn Seed>,
    attempts: FailedAttempts,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    links: LoginLinks,
    open: HashMap<Digest, Session>,
    next: u64,
}

struct Session {
    view: SessionView,
    /// Dropped with the session: whatever waits for its end notices.
    end: watch::Sender<()>,
}

/// A session as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionView {
    /// Its number, which is no secret.
    pub number: u64,
    /// What it may do.
    pub role: Role,
    /// Its person, as an identity provider names it; none where a login link opened it.
    pub name: Option<Arc<str>>,
    /// Where it was opened from.
    pub address: IpAddr,
    /// When it was opened.
    pub opened: UnixMs,
    /// Its last request.
    pub used: UnixMs,
    /// When it ends, however much it is used.
    pub ends: UnixMs,
}

/// Ends when its session does.
#[derive(Clone)]
pub(crate) struct SessionEnd {
    number: u64,
    sessions: Arc<Sessions>,
    ended: watch::Receiver<()>,
}

impl SessionEnd {
    /// Returns once the session was ended by a person, or its time is over.
    pub(crate) async fn ended(mut self) {
        while self.sessions.is_open(self.number) {
            let look = self.sessions.clock.pause(LOOK);
            tokio::select! {
                // Nothing is ever sent, so this only returns when the sender is gone.
                _ = self.ended.changed() => return,
                () = look => {}
            }
        }
    }
}

impl SessionView {
    /// Its person, as the audit record names it.
    #[must_use]
    pub fn who(&self) -> String {
        match &self.name {
            Some(name) => format!("session {} of {name}", self.number),
            None => format!("session {}", self.number),
        }
    }
}

impl Sessions {
    pub(crate) fn new(address: SocketAddr, is_tls: bool, clock: Arc<dyn Clock>, seed: Arc<dyn Seed>) -> Self {
        let cookie = SessionCookie::of_port(address.port(), is_tls);
        Self {
            address,
            is_tls,
            cookie,
            clock,
            seed,
            attempts: FailedAttempts::default(),
            state: Mutex::default(),
        }
    }

    /// A new link, in the fragment of its address: no access log, no proxy and no `Referer` header ever has it.
    #[must_use]
    pub fn new_link(&self, role: Role) -> LoginLinkView {
        let token = random_text(&*self.seed);
        let expires = self.state().links.add(digest_of(token.expose()), role, self.clock.now());
        let url = |origin: &String| Revealed(format!("{origin}/login#{}", token.expose()));
        let urls = origins(self.address, self.is_tls).iter().map(url).collect();
        LoginLinkView { urls, role, expires: expires.into() }
    }

    /// Exchanges the token of a link for a session: the header that gives the browser, which came over `https` or not, its
    /// cookie.
    pub(crate) fn open(
        &self,
        token: &str,
        address: IpAddr,
        https: bool,
    ) -> Result<HeaderValue, LoginRefusal> {
        let redeemed = self.state().links.redeem(&digest_of(token), self.clock.now());
        match redeemed {
            Ok(role) => Ok(self.open_for(None, role, address, https)),
            Err(refusal) => Err(self.failed(address).err().unwrap_or(refusal)),
        }
    }

    /// Counts a failed login. A right one always works: a local program without a link cannot keep its owner out.
    pub(crate) fn failed(&self, address: IpAddr) -> Result<(), LoginRefusal> {
        let counted = self.attempts.fail(address, self.clock.now());
        counted.map_err(|wait| LoginRefusal::TooMany(whole_seconds(wait)))
    }

    /// Whether an address may try a login that costs a call. Counts nothing.
    pub(crate) fn may_try(&self, address: IpAddr) -> Result<(), LoginRefusal> {
        let checked = self.attempts.check(address, self.clock.now());
        checked.map_err(|wait| LoginRefusal::TooMany(whole_seconds(wait)))
    }

    /// Opens a session of somebody who has shown who it is: the header that gives the browser its cookie.
    pub(crate) fn open_for(
        &self,
        name: Option<Arc<str>>,
        role: Role,
        address: IpAddr,
        https: bool,
    ) -> HeaderValue {
        let (now, mut state) = (self.clock.now(), self.state());
        state.drop_expired(now);
        if state.open.len() >= MOST {
            let oldest = state.open.iter().min_by_key(|(_, session)| session.view.used);
            let oldest = oldest.map(|(digest, _)| *digest);
            oldest.and_then(|digest| state.open.remove(&digest));
        }
        let id = random_text(&*self.seed);
        state.next += 1;
        let number = state.next;
        tracing::info!(session = number, role = role.as_str(), name = name.as_deref(), %address, "logged in");
        let view = SessionView { number, role, name, address, opened: now, used: now, ends: now.plus(LIFE) };
        state.open.insert(digest_of(id.expose()), Session { view, end: watch::Sender::new(()) });
        self.cookie.set(id.expose(), https)
    }

    /// The session of a request, if it has one. A stream of events does not prolong it, any other request does.
    ///
    /// # Errors
    /// The status and the reason, where the request has a token too or does not come from a page of this origin. A request
    /// without a session's cookie is no error.
    pub(crate) fn authenticate(
        &self,
        parts: &Parts,
    ) -> Result<Option<SessionView>, (StatusCode, &'static str)> {
        let Some(id) = self.cookie.read(&parts.headers) else { return Ok(None) };
        if parts.headers.contains_key(AUTHORIZATION) {
            let why = "a session's cookie and an Authorization header in one request: send one of them";
            return Err((StatusCode::BAD_REQUEST, why));
        }
        if cookie::is_unsafe(&parts.method) {
            cookie::check(parts).map_err(|why| (StatusCode::FORBIDDEN, why))?;
        }
        let (now, mut state) = (self.clock.now(), self.state());
        state.drop_expired(now);
        let found = state.open.get_mut(&digest_of(id));
        Ok(found.map(|session| {
            if !accepts(&parts.headers, "text/event-stream") {
                session.view.used = now;
            }
            session.view.clone()
        }))
    }

    /// What the session of a request says of its sender.
    pub(crate) fn claim(&self, head: &Parts) -> Claim {
        let session = self.authenticate(head).map_err(|(_, why)| why)?;
        let claimed = |session: SessionView| {
            let (who, role) = (session.who(), session.role);
            Claimed { who, role, session: Some(session.number) }
        };
        Ok(session.map(claimed))
    }

    /// Ends when that session does; at once where it has ended.
    pub(crate) fn end_of(self: &Arc<Self>, number: u64) -> SessionEnd {
        let state = self.state();
        let session = state.open.values().find(|session| session.view.number == number);
        let ended = session.map_or_else(|| watch::channel(()).1, |session| session.end.subscribe());
        SessionEnd { number, sessions: Arc::clone(self), ended }
    }

    /// Whether a session is open now.
    fn is_open(&self, number: u64) -> bool {
        let mut state = self.state();
        state.drop_expired(self.clock.now());
        state.open.values().any(|session| session.view.number == number)
    }

    /// Every open session, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<SessionView> {
        let mut state = self.state();
        state.drop_expired(self.clock.now());
        let mut views: Vec<_> = state.open.values().map(|session| session.view.clone()).collect();
        views.sort_by_key(|view| view.number);
        views
    }

    /// Ends a session; whether there was one.
    pub fn end(&self, number: u64) -> bool {
        self.end_where(|session| session.number == number) > 0
    }

    /// Ends every session; how many there were.
    pub fn end_all(&self) -> usize {
        self.end_where(|_| true)
    }

    pub(crate) fn cookie(&self) -> &SessionCookie {
        &self.cookie
    }

    fn end_where(&self, is_meant: impl Fn(&SessionView) -> bool) -> usize {
        let mut state = self.state();
        let before = state.open.len();
        state.open.retain(|_, session| !is_meant(&session.view));
        before - state.open.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn drop_expired(&mut self, now: UnixMs) {
        self.open.retain(|_, Session { view, .. }| now.since(view.used) < IDLE && now < view.ends);
    }
}

/// Whether a request takes answers of this type, which is given in lower case.
pub(crate) fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    accept.to_ascii_lowercase().contains(kind)
}

/// Rounded up: a wait of less than a second is one.
fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// Where a browser on this machine finds a listener. Under `gatehouse.localhost` it has cookies that no other local
/// program's pages share; not every browser resolves the name.
fn origins(address: SocketAddr, is_tls: bool) -> Vec<String> {
    let (address, scheme) = (reachable(address), if is_tls { "https" } else { "http" });
    let own = format!("{scheme}://{address}");
    match address.ip() {
        // The name stands for these two, and for no other address of the loopback network.
        IpAddr::V4(Ipv4Addr::LOCALHOST) | IpAddr::V6(Ipv6Addr::LOCALHOST) => {
            vec![format!("{scheme}://gatehouse.localhost:{}", address.port()), own]
        }
        _ => vec![own],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_names_what_a_browser_reaches() {
        for (address, expected) in [
            ("127.0.0.1:9", &["http://gatehouse.localhost:9", "http://127.0.0.1:9"][..]),
            ("0.0.0.0:9", &["http://gatehouse.localhost:9", "http://127.0.0.1:9"]),
            ("[::1]:9", &["http://gatehouse.localhost:9", "http://[::1]:9"]),
            ("127.0.0.2:9", &["http://127.0.0.2:9"]),
            ("10.1.2.3:9", &["http://10.1.2.3:9"]),
        ] {
            assert_eq!(origins(address.parse().unwrap(), false), expected, "{address}");
            let over_tls: Vec<_> = expected.iter().map(|url| url.replace("http:", "https:")).collect();
            assert_eq!(origins(address.parse().unwrap(), true), over_tls, "{address}");
        }
    }
}
