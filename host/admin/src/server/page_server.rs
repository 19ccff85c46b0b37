//! Requests of browsers: login and logout, the session of each request, and the console's pages behind it.
//!
//! A request without a session reaches what everybody may read and nothing else. What changes something runs on a task
//! of its own to its end. Never renders a page itself.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::Clock;
use gatehouse_net::ShutdownPhase;
use http::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, LOCATION, RETRY_AFTER, SET_COOKIE};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use tokio::sync::{Semaphore, watch};

use super::console::{Access, Console, ConsoleRefusal, ConsoleRequest, ResponseBody, StreamEnd};
use crate::api::error::OperationError;
use crate::api::result::{LoginLinkView, Revealed};
use crate::http::access::caller::{LoginLinks, Role};
use crate::http::reply::whole;
use crate::session::{AuthenticationError, LoginRefusal, SessionView, Sessions, origin};

const LOGIN: &str = "/login";
const SESSION: &str = "/session";
const LOGOUT: &str = "/session/end";
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of a login, at most.
const LOGIN_BYTES: usize = 4096;

/// Answers requests of browsers.
pub(super) struct PageServer {
    sessions: Arc<Sessions>,
    console: OnceLock<Arc<dyn Console>>,
    operations: Arc<Semaphore>,
    clock: Arc<dyn Clock>,
    shutdown: watch::Receiver<ShutdownPhase>,
}

/// A refusal before the console was asked.
struct Refused {
    status: StatusCode,
    message: String,
}

impl LoginLinks for PageServer {
    fn new_link(&self, role: Role) -> Result<LoginLinkView, OperationError> {
        if self.console.get().is_none() {
            return Err(OperationError::Busy("the console is not ready yet".to_owned()));
        }
        let link = self.sessions.new_link(role);
        tracing::info!(role = role.as_str(), "a login link was made");
        let urls = link.urls.iter().map(|url| Revealed(url.expose().clone())).collect();
        Ok(LoginLinkView { urls, role, expires: link.expires })
    }
}

impl PageServer {
    pub(super) fn new(
        sessions: Arc<Sessions>,
        operations: Arc<Semaphore>,
        clock: Arc<dyn Clock>,
        shutdown: watch::Receiver<ShutdownPhase>,
    ) -> Self {
        Self { sessions, console: OnceLock::new(), operations, clock, shutdown }
    }

    /// From now on these pages are served. The first call counts.
    pub(super) fn show(&self, console: Arc<dyn Console>) {
        // A second one has no effect, as documented.
        drop(self.console.set(console));
    }

    pub(super) fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// Answers one request; `None` while there is no console.
    pub(super) async fn respond(
        &self,
        parts: &Parts,
        body: &mut Incoming,
        address: IpAddr,
    ) -> Option<Response<ResponseBody>> {
        let console = self.console.get()?;
        let path = parts.uri.path();
        if path == SESSION {
            return Some(self.log_in(&**console, parts, body, address).await);
        }
        let session = match self.sessions.authenticate(parts) {
            Ok(session) => session,
            Err(error) => return Some(refuse(&**console, parts, None, not_authenticated(error))),
        };
        if path == LOGOUT {
            return Some(self.log_out(&**console, parts, session.as_ref()));
        }
        Some(self.page(console, parts, body, session, address).await)
    }

    async fn page(
        &self,
        console: &Arc<dyn Console>,
        parts: &Parts,
        body: &mut Incoming,
        session: Option<SessionView>,
        address: IpAddr,
    ) -> Response<ResponseBody> {
        let Access { role, max_body } = console.access(&parts.method, parts.uri.path());
        if let Some(needed) = role {
            match &session {
                None => return without_session(parts),
                Some(session) if session.role < needed => {
                    let message = format!(
                        "this needs the role {needed}, and your session has the role {}",
                        session.role
                    );
                    let refused = Refused { status: StatusCode::FORBIDDEN, message };
                    return refuse(&**console, parts, Some(session), refused);
                }
                Some(_) => {}
            }
        }
        let body = match self.read(body, max_body).await {
            Ok(body) => body,
            Err(refused) => return refuse(&**console, parts, session.as_ref(), refused),
        };
        let end = session.as_ref().and_then(|session| self.sessions.end_of(session.number));
        let end = StreamEnd::new(end, self.shutdown.clone());
        let changes = origin::is_unsafe(&parts.method);
        let request = ConsoleRequest { parts: parts.clone(), body, session: session.clone(), address, end };
        if !changes {
            let mut response = console.respond(request).await;
            if let Some(session) = &session {
                response.extensions_mut().insert(session.role);
            }
            return response;
        }
        let permit = Arc::clone(&self.operations).acquire_owned().await;
        let responding = Arc::clone(console);
        let responded = tokio::spawn(async move {
            let _permit = permit;
            responding.respond(request).await
        });
        responded.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a page of the console failed");
            let message = "a part of the gateway failed; its log says more".to_owned();
            let refused = Refused { status: StatusCode::INTERNAL_SERVER_ERROR, message };
            refuse(&**console, parts, session.as_ref(), refused)
        })
    }

    /// `POST /session`: the token of a login link for a session.
    async fn log_in(
        &self,
        console: &dyn Console,
        parts: &Parts,
        body: &mut Incoming,
        address: IpAddr,
    ) -> Response<ResponseBody> {
        if parts.method != Method::POST {
            return wrong_method();
        }
        if let Err(message) = origin::check(parts) {
            let refused = Refused { status: StatusCode::FORBIDDEN, message: message.to_owned() };
            return refuse_login(console, parts, refused);
        }
        let token = match self.read(body, LOGIN_BYTES).await {
            Ok(body) => token_of(&body),
            Err(refused) => return refuse_login(console, parts, refused),
        };
        match self.sessions.open(&token, address) {
            Ok(cookie) => {
                let mut response = redirect("/");
                response.headers_mut().insert(SET_COOKIE, cookie);
                response
            }
            Err(refusal) => {
                tracing::warn!(%address, %refusal, "a login failed");
                let status = match refusal {
                    LoginRefusal::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
                    _ => StatusCode::UNAUTHORIZED,
                };
                let mut response =
                    refuse_login(console, parts, Refused { status, message: refusal.to_string() });
                if let LoginRefusal::TooMany(seconds) = refusal {
                    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
                }
                response
            }
        }
    }

    /// `POST /session/end`: ends the session of the request.
    fn log_out(
        &self,
        console: &dyn Console,
        parts: &Parts,
        session: Option<&SessionView>,
    ) -> Response<ResponseBody> {
        if parts.method != Method::POST {
            return wrong_method();
        }
        if let Some(session) = session {
            self.sessions.end(session.number);
            tracing::info!(session = session.number, "logged out");
        } else if let Err(message) = origin::check(parts) {
            let refused = Refused { status: StatusCode::FORBIDDEN, message: message.to_owned() };
            return refuse(console, parts, None, refused);
        }
        let mut response = redirect(LOGIN);
        response.headers_mut().insert(SET_COOKIE, self.sessions.cookie().clear());
        response
    }

    async fn read(&self, body: &mut Incoming, most: usize) -> Result<Bytes, Refused> {
        let refused = |status, message: String| Refused { status, message };
        let read = tokio::select! {
            read = Limited::new(body, most).collect() => read,
            () = self.clock.pause(BODY_TIMEOUT) => {
                return Err(refused(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time".to_owned()));
            }
        };
        match read {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                let message = format!("the body is too large: at most {most} bytes are taken here");
                Err(refused(StatusCode::PAYLOAD_TOO_LARGE, message))
            }
            Err(error) => {
                Err(refused(StatusCode::BAD_REQUEST, format!("the body could not be read: {error}")))
            }
        }
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

/// A page leads to the login; anything else is told what it lacks.
fn without_session(parts: &Parts) -> Response<ResponseBody> {
    let text =
        |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_page = parts.method == Method::GET
        && text(ACCEPT).contains("text/html")
        && !parts.headers.contains_key("hx-request");
    if is_page {
        return redirect(LOGIN);
    }
    plain(
        StatusCode::UNAUTHORIZED,
        "this needs a session: open the link that `gatehouse console link` prints\n",
    )
}

fn not_authenticated(error: AuthenticationError) -> Refused {
    match error {
        AuthenticationError::TwoIdentities => Refused {
            status: StatusCode::BAD_REQUEST,
            message: "a session's cookie and an Authorization header in one request: send one of them"
                .to_owned(),
        },
        AuthenticationError::Foreign(message) => {
            Refused { status: StatusCode::FORBIDDEN, message: message.to_owned() }
        }
    }
}

fn refuse(
    console: &dyn Console,
    parts: &Parts,
    session: Option<&SessionView>,
    refused: Refused,
) -> Response<ResponseBody> {
    let Refused { status, message } = refused;
    console.refuse(&ConsoleRefusal { parts, session, status, message, at_login: false })
}

fn refuse_login(console: &dyn Console, parts: &Parts, refused: Refused) -> Response<ResponseBody> {
    let Refused { status, message } = refused;
    console.refuse(&ConsoleRefusal { parts, session: None, status, message, at_login: true })
}

fn redirect(to: &'static str) -> Response<ResponseBody> {
    let mut response = plain(StatusCode::SEE_OTHER, "");
    response.headers_mut().insert(LOCATION, HeaderValue::from_static(to));
    response
}

fn wrong_method() -> Response<ResponseBody> {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "allowed here: POST\n");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response<ResponseBody> {
    let mut response = Response::new(whole(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
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
