//! The pages as the admin listener serves them: from a request to its page, and from an error to a page that says it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use bytes::Bytes;
use gatehouse_admin::{
    Access, AdminService, Console, ConsoleRefusal, LocalApi, PageCaller, ResponseBody, Role, Sessions, admit,
};
use http::header::ALLOW;
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::BodyExt as _;

use crate::api::Api;
use crate::assets;
use crate::context::{Facts, PageContext};
use crate::error::PageError;
use crate::once::{self, Once};
use crate::pages::{failure, login};
use crate::request::{PageRequest, Theme};
use crate::routes::{self, Answer, Found, Row};
use crate::runs::Runs;

/// The console.
#[derive(Clone)]
pub struct Pages(Arc<PageContext>);

impl Pages {
    /// Pages over this service; `sessions` are those of the listener that serves them.
    #[must_use]
    pub fn new(service: Arc<AdminService>, sessions: Arc<Sessions>, facts: Facts) -> Self {
        let api = Api::new(LocalApi::new(Arc::clone(&service), "console"));
        let (runs, once) = (Runs::default(), Once::default());
        Self(Arc::new(PageContext { service, api, sessions, facts, runs, once }))
    }
}

impl Pages {
    /// The pages as the listener serves them.
    #[must_use]
    pub fn console(self) -> Console {
        let refuse = self.clone();
        let respond = move |Extension(visit): Extension<PageCaller>, request: Request| {
            let pages = Arc::clone(&self.0);
            async move {
                let (parts, body) = request.into_parts();
                // It was read within its limits already.
                let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
                pages.respond(parts, body, visit).await
            }
        };
        let admitted = from_fn(|request: Request, next: Next| {
            let access = access(request.method(), request.uri().path());
            admit(access, request, next)
        });
        Console {
            router: axum::Router::new().fallback(respond).layer(admitted),
            refuse: Box::new(move |refusal| refuse.refuse(refusal)),
        }
    }

    fn refuse(&self, refusal: &ConsoleRefusal<'_>) -> Response<ResponseBody> {
        if refusal.at_login {
            return login::refused(&self.0, refusal);
        }
        let error = PageError::new(refusal.status, refusal.message.clone());
        failure::show(&self.0, refusal.session, Theme::of(&refusal.parts.headers), &error)
    }
}

fn access(method: &Method, path: &str) -> Access {
    match routes::find(method, path) {
        Found::Row(row, _) => Access { role: row.role, max_body: row.max_body },
        _ if path.starts_with(assets::PREFIX) || path == ICON => Access { role: None, max_body: 0 },
        // What does not exist is told to those who may read the rest.
        _ => Access { role: Some(Role::Viewer), max_body: 0 },
    }
}

/// Browsers ask for it by themselves.
const ICON: &str = "/favicon.ico";

impl PageContext {
    async fn respond(
        self: Arc<Self>,
        parts: Parts,
        body: Bytes,
        visit: PageCaller,
    ) -> Response<ResponseBody> {
        let path = parts.uri.path().to_owned();
        let (session, theme) = (visit.session.clone(), Theme::of(&parts.headers));
        let failed = |error: &PageError| failure::show(&self, session.as_ref(), theme, error);
        let row = match routes::find(&parts.method, &path) {
            Found::Row(row, id) => Some((row, id)),
            Found::OtherMethods(methods) => {
                let message = format!("allowed here: {}", methods.join(", "));
                let mut response = failed(&PageError::new(StatusCode::METHOD_NOT_ALLOWED, message));
                let allowed = HeaderValue::from_str(&methods.join(", ")).expect("names of methods");
                response.headers_mut().insert(ALLOW, allowed);
                return response;
            }
            Found::Nothing => None,
        };
        let Some((row, id)) = row else {
            let asset = assets::respond(if path == ICON { &ICON_FILE } else { &path });
            return asset
                .unwrap_or_else(|| failed(&PageError::not_found(format!("there is no page at {path}"))));
        };
        let mut request = PageRequest::new((parts, body), visit, id, self.service.clock.now());
        request.number = self.once.number();
        self.page_once(row, request, &path).await.unwrap_or_else(|error| {
            if error.status.is_server_error() {
                tracing::error!(path, error = error.message, "a page of the console failed");
            }
            failed(&error)
        })
    }

    /// The answer, unless it is that to a form that was sent before.
    async fn page_once(self: &Arc<Self>, row: &Row, request: PageRequest, path: &str) -> Answer {
        let session = request.session.as_ref().map_or(0, |session| session.number);
        let sent = self.once.take(session, request.form().text(once::FIELD), path)?;
        let answer = (row.page)(Arc::clone(self), request).await;
        let is_done = answer.as_ref().is_ok_and(|answer| answer.status().as_u16() < 400);
        if let Some(sent) = sent.filter(|_| !is_done) {
            self.once.forget(&sent);
        }
        answer
    }
}

/// The icon's address.
static ICON_FILE: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| assets::url("icon.svg"));
