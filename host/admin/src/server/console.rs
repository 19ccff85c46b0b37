//! What the admin listener and the console know of each other. The pages are another crate's [`axum::Router`]; the gateway
//! hands it to the listener, which has checked host, session and origin of a request before a page is asked. Each page
//! says by [`admit`] what it needs. Also the plain answers that all pages of the listener share.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use gatehouse_model::Clock;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use tokio::sync::Semaphore;

use crate::access::Role;
use crate::http::request::body as request_body;
use crate::session::{SessionView, accepts, cookie};

pub(super) const LOGIN: &str = "/login";
/// The type of a page of metrics.
const PROMETHEUS_TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4");

/// The pages for operators.
pub struct Console {
    /// Its pages. Each request has a [`PageCaller`] as an extension.
    pub router: axum::Router,
    /// The page of a request that was refused before its page was asked.
    pub refuse: Box<dyn Fn(&ConsoleRefusal<'_>) -> Response + Send + Sync>,
}

/// What a request needs before it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// A session of this role; none for what everybody may read.
    pub role: Option<Role>,
    /// Bytes of its body, at most; without it the body is not read.
    pub max_body: Option<usize>,
}

/// The person before a page.
#[derive(Clone)]
pub struct PageCaller {
    /// The session it belongs to; there is one wherever [`Access`] asks for a role.
    pub session: Option<SessionView>,
    /// The other end of its connection.
    pub address: IpAddr,
    pub(super) operations: Arc<Semaphore>,
    pub(super) clock: Arc<dyn Clock>,
}

/// A request that was refused.
pub struct ConsoleRefusal<'r> {
    /// Its head.
    pub parts: &'r Parts,
    /// The session it belongs to, if any.
    pub session: Option<&'r SessionView>,
    /// The status.
    pub status: StatusCode,
    /// Why, a sentence.
    pub message: String,
    /// A login failed, so the person needs another link.
    pub at_login: bool,
}

/// An answer without a page, as an extension of it: the console has the page.
#[derive(Clone)]
pub(super) struct Refused {
    pub(super) message: String,
    pub(super) at_login: bool,
}

/// Lets a request through to its page: checks the role, reads the body within its limits, and does what may change
/// something on a task of its own, to its end, whatever becomes of the connection. For `axum::middleware::from_fn`.
pub async fn admit(access: Access, request: Request, next: Next) -> Response {
    let Some(visit) = request.extensions().get::<PageCaller>().cloned() else {
        return refused(StatusCode::INTERNAL_SERVER_ERROR, "a page was asked without its listener");
    };
    let (parts, body) = request.into_parts();
    match (access.role, &visit.session) {
        (Some(_), None) => return without_session(&parts),
        (Some(needed), Some(session)) if session.role < needed => {
            let message =
                format!("this needs the role {needed}, and your session has the role {}", session.role);
            return refused(StatusCode::FORBIDDEN, message);
        }
        _ => {}
    }
    let body = match access.max_body {
        Some(most) => match read(body, most, &*visit.clock).await {
            Ok(body) => Body::from(body),
            Err(answer) => return answer,
        },
        None => Body::empty(),
    };
    let changes = cookie::is_unsafe(&parts.method);
    let request = Request::from_parts(parts, body);
    if !changes {
        return next.run(request).await;
    }
    let permit = visit.operations.acquire_owned().await;
    let responded = tokio::spawn(async move {
        let _permit = permit;
        next.run(request).await
    });
    responded.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a page of the console failed");
        refused(StatusCode::INTERNAL_SERVER_ERROR, "a part of the gateway failed; its log says more")
    })
}

/// The whole body, or the answer to one that is too large or too slow.
pub(super) async fn read(body: Body, most: usize, clock: &dyn Clock) -> Result<Bytes, Response> {
    request_body::read(body, most, clock).await.map_err(|error| match error.status() {
        413 => {
            let message = format!("the body is too large: at most {most} bytes are taken here");
            refused(StatusCode::PAYLOAD_TOO_LARGE, message)
        }
        status => refused(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), error.message()),
    })
}

/// A page leads to the login; anything else is told what it lacks.
fn without_session(parts: &Parts) -> Response {
    let is_page = parts.method == Method::GET
        && accepts(&parts.headers, "text/html")
        && !parts.headers.contains_key("hx-request");
    if is_page {
        return redirect(LOGIN);
    }
    plain(
        StatusCode::UNAUTHORIZED,
        "this needs a session: open the link that `gatehouse console link` prints\n",
    )
}

pub(super) fn refused(status: StatusCode, message: impl Into<String>) -> Response {
    let mut response = plain(status, "");
    response.extensions_mut().insert(Refused { message: message.into(), at_login: false });
    response
}

pub(super) fn redirect(to: &str) -> Response {
    let mut response = plain(StatusCode::SEE_OTHER, "");
    match HeaderValue::from_str(to) {
        Ok(to) => drop(response.headers_mut().insert(LOCATION, to)),
        Err(_) => return refused(StatusCode::INTERNAL_SERVER_ERROR, "there is no such address to lead to"),
    }
    response
}

/// Text that no cache keeps.
pub(super) fn plain(status: StatusCode, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let headers: &mut HeaderMap = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

pub(super) fn wrong_method(allowed: &'static str) -> Response {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, format!("allowed here: {allowed}\n"));
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// The page of metrics in the Prometheus text form.
pub(super) fn metrics_page(text: String) -> Response {
    let mut response = plain(StatusCode::OK, text);
    response.headers_mut().insert(CONTENT_TYPE, PROMETHEUS_TEXT);
    response
}
