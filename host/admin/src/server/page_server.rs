//! Requests of browsers: login by a link or at an identity provider, and logout, the session of each request,
//! and the console's pages behind it.
//!
//! A request without a session reaches what everybody may read and nothing else. Never renders a page itself.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use gatehouse_model::Clock;
use http::header::{RETRY_AFTER, SET_COOKIE};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use super::connections::Entry;
use super::console::{
    Console, ConsoleRefusal, LOGIN, PageCaller, Refused, read, redirect, refused, wrong_method,
};
use crate::access::{LoginLinkView, LoginLinks, Role};
use crate::api::error::OperationError;
use crate::oidc::{CALLBACK, IdentityProvider, LIFE, OidcRefusal};
use crate::session::cookie::ATTEMPT_PATH;
use crate::session::{LoginRefusal, SessionView, Sessions, cookie};

const SESSION: &str = "/session";
const LOGOUT: &str = "/session/end";
/// A page of ours from where the session's cookie is sent: browsers keep it back while another site's page leads here.
const ARRIVED: &str = "/login/arrived";
/// Bytes of a login, at most.
const LOGIN_BYTES: usize = 4096;

/// Answers requests of browsers.
pub(super) struct PageServer {
    pub(super) sessions: Arc<Sessions>,
    /// Set once: the first pages stay.
    pub(super) console: OnceLock<Console>,
    /// Set once, when its users may log in.
    pub(super) provider: OnceLock<IdentityProvider>,
    operations: Arc<Semaphore>,
    clock: Arc<dyn Clock>,
}

impl LoginLinks for PageServer {
    fn new_link(&self, role: Role) -> Result<LoginLinkView, OperationError> {
        if self.console.get().is_none() {
            return Err(OperationError::Busy("the console is not ready yet".to_owned()));
        }
        let link = self.sessions.new_link(role);
        tracing::info!(role = role.as_str(), "a login link was made");
        Ok(link)
    }
}

impl PageServer {
    pub(super) fn new(sessions: Arc<Sessions>, operations: Arc<Semaphore>, clock: Arc<dyn Clock>) -> Self {
        Self { sessions, console: OnceLock::new(), provider: OnceLock::new(), operations, clock }
    }

    /// Answers one request; `None` while there is no console.
    pub(super) async fn respond(
        &self,
        request: Request,
        entry: &Arc<Entry>,
        address: IpAddr,
    ) -> Option<Response> {
        let console = self.console.get()?;
        let (head, body) = request.into_parts();
        let (parts, mut session, mut operation) = (head.clone(), None, None);
        let request = Request::from_parts(head, body);
        let mut response = match (parts.uri.path(), &parts.method) {
            (SESSION | LOGOUT, method) if method != Method::POST => wrong_method("POST"),
            (SESSION, _) => self.log_in(request, address).await,
            (ATTEMPT_PATH | CALLBACK, method) if method != Method::GET => wrong_method("GET"),
            (ATTEMPT_PATH, _) => self.send_away(address).await,
            (CALLBACK, _) => self.take_back(&parts, address).await,
            (path, _) => match self.sessions.authenticate(&parts) {
                Err((status, why)) => refused(status, why),
                Ok(found) if path == LOGOUT => {
                    session = found;
                    self.log_out(&parts, session.as_ref())
                }
                Ok(found) => {
                    session = found;
                    // The connection of a request that has shown who sends it gives way to no other.
                    operation = session.as_ref().map(|_| Arc::new(entry.begin_operation()));
                    self.page(console, request, session.clone(), address).await
                }
            },
        };
        if let Some(Refused { message, at_login }) = response.extensions_mut().remove::<Refused>() {
            let (session, status) = (session.as_ref(), response.status());
            let page =
                (console.refuse)(&ConsoleRefusal { parts: &parts, session, status, message, at_login });
            let kept =
                [RETRY_AFTER, SET_COOKIE].map(|name| (name.clone(), response.headers_mut().remove(name)));
            response = page;
            let kept = kept.into_iter().filter_map(|(name, value)| Some((name, value?)));
            response.headers_mut().extend(kept);
        }
        if let Some(operation) = operation {
            response.extensions_mut().insert(operation);
        }
        Some(response)
    }

    async fn page(
        &self,
        console: &Console,
        mut request: Request,
        session: Option<SessionView>,
        address: IpAddr,
    ) -> Response {
        let end = session.as_ref().map(|session| self.sessions.end_of(session.number));
        let role = session.as_ref().map(|session| session.role);
        let (operations, clock) = (Arc::clone(&self.operations), Arc::clone(&self.clock));
        request.extensions_mut().insert(PageCaller { session, address, operations, clock });
        let mut response =
            console.router.clone().oneshot(request).await.unwrap_or_else(|never| match never {});
        if let Some(role) = role {
            response.extensions_mut().insert(role);
        }
        // A stream of events ends with its session.
        if let Some(end) = end {
            response.extensions_mut().insert(end);
        }
        response
    }

    /// `POST /session`: the token of a login link for a session.
    async fn log_in(&self, request: Request, address: IpAddr) -> Response {
        let (parts, body) = request.into_parts();
        if let Err(message) = cookie::check(&parts) {
            return login_refused(refused(StatusCode::FORBIDDEN, message));
        }
        let token = match read(body, LOGIN_BYTES, &*self.clock).await {
            Ok(body) => token_of(&body),
            Err(answer) => return login_refused(answer),
        };
        match self.sessions.open(&token, address, cookie::is_https(&parts)) {
            Ok(cookie) => {
                let mut response = redirect("/");
                response.headers_mut().insert(SET_COOKIE, cookie);
                response
            }
            Err(refusal) => {
                tracing::warn!(%address, %refusal, "a login failed");
                login_failed(refusal)
            }
        }
    }

    /// `GET /login/oidc`: leads to the identity provider.
    async fn send_away(&self, address: IpAddr) -> Response {
        let Some(provider) = self.provider.get() else { return no_provider() };
        match provider.begin().await {
            Ok((question, cookie)) => {
                let mut response = redirect(&question);
                let cookie = self.sessions.cookie().set_attempt(&cookie, LIFE, provider.is_over_tls());
                response.headers_mut().insert(SET_COOKIE, cookie);
                response
            }
            Err(refusal) => self.not_logged_in(&refusal, address),
        }
    }

    /// `GET /login/oidc/callback`: the provider's answer for a session.
    async fn take_back(&self, parts: &Parts, address: IpAddr) -> Response {
        let Some(provider) = self.provider.get() else { return no_provider() };
        // Before the provider is asked: a stranger's made-up codes would cost a call each.
        if let Err(refusal) = self.sessions.may_try(address) {
            return login_failed(refusal);
        }
        let (cookies, https) = (self.sessions.cookie(), provider.is_over_tls());
        let kept = cookies.read_attempt(&parts.headers);
        let found = provider.finish(parts.uri.query().unwrap_or_default(), kept, address);
        let mut response = match found.await {
            Ok(person) => {
                let cookie = self.sessions.open_for(Some(person.name.into()), person.role, address, https);
                let mut response = redirect(ARRIVED);
                response.headers_mut().insert(SET_COOKIE, cookie);
                response
            }
            Err(refusal) => self.not_logged_in(&refusal, address),
        };
        // The provider takes each code once, so nobody needs the mark again.
        response.headers_mut().append(SET_COOKIE, cookies.set_attempt("", Duration::ZERO, https));
        response
    }

    fn not_logged_in(&self, refusal: &OidcRefusal, address: IpAddr) -> Response {
        tracing::warn!(%address, %refusal, "a login at the identity provider failed");
        let status = match refusal {
            OidcRefusal::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            OidcRefusal::NoRole(_) => StatusCode::FORBIDDEN,
            OidcRefusal::Declined(_) | OidcRefusal::Foreign | OidcRefusal::Invalid(_) => {
                StatusCode::UNAUTHORIZED
            }
        };
        if status == StatusCode::UNAUTHORIZED
            && let Err(refusal) = self.sessions.failed(address)
        {
            return login_failed(refusal);
        }
        login_refused(refused(status, refusal.to_string()))
    }

    /// `POST /session/end`: ends the session of the request.
    fn log_out(&self, parts: &Parts, session: Option<&SessionView>) -> Response {
        if let Some(session) = session {
            self.sessions.end(session.number);
            tracing::info!(session = session.number, "logged out");
        } else if let Err(message) = cookie::check(parts) {
            return refused(StatusCode::FORBIDDEN, message);
        }
        let mut response = redirect(LOGIN);
        response.headers_mut().insert(SET_COOKIE, self.sessions.cookie().clear(cookie::is_https(parts)));
        response
    }
}

/// The field `token` of a login form; letters of the token never need escapes.
fn token_of(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let field = text.split('&').find_map(|pair| pair.strip_prefix("token=")).unwrap_or_default();
    // A whole link may be pasted in place of its token.
    let field = field.rsplit_once("%23").map_or(field, |(_, token)| token);
    field.trim_matches('+').to_owned()
}

/// The refusal of a login, which has a page of its own.
fn login_refused(mut response: Response) -> Response {
    if let Some(refused) = response.extensions_mut().get_mut::<Refused>() {
        refused.at_login = true;
    }
    response
}

fn login_failed(refusal: LoginRefusal) -> Response {
    let status = match refusal {
        LoginRefusal::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::UNAUTHORIZED,
    };
    let mut response = login_refused(refused(status, refusal.to_string()));
    if let LoginRefusal::TooMany(seconds) = refusal {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn no_provider() -> Response {
    login_refused(refused(
        StatusCode::NOT_FOUND,
        "no identity provider is configured ([admin.oidc]); use a login link",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_alone_or_from_its_link() {
        for (body, expected) in [
            ("token=abc-_9", "abc-_9"),
            ("x=y&token=abc", "abc"),
            ("token=http%3A%2F%2F127.0.0.1%3A9%2Flogin%23abc", "abc"),
            ("token=+abc+", "abc"),
            ("token=", ""),
            ("", ""),
        ] {
            assert_eq!(token_of(body.as_bytes()), expected, "{body}");
        }
    }
}
