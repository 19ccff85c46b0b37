//! The pages as the admin listener serves them: from a request to its page, and from an error to a page that says it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{MatchedPath, Path, Request};
use axum::handler::Handler as _;
use axum::middleware::{Next, from_fn};
use axum::routing::{MethodFilter, MethodRouter, on};
use gatehouse_admin::{
    Access, AdminService, Console, ConsoleRefusal, LocalApi, PageCaller, ResponseBody, Role, Sessions, admit,
};
use gatehouse_model::RequestId;
use http::header::ALLOW;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::BodyExt as _;
use tokio::sync::OnceCell;

use crate::error::{Outcome, PageError};
use crate::form::Once;
use crate::noted_reads::NotedReads;
use crate::pages::{failure, login};
use crate::request::{Facts, PageContext, PageRequest, Theme};
use crate::routes::{self, Row};
use crate::runs::Runs;
use crate::{assets, form};

/// The console.
#[derive(Clone)]
pub struct Pages(Arc<PageContext>);

impl Pages {
    /// Pages over this service; `sessions` are those of the listener that serves them.
    #[must_use]
    pub fn new(service: Arc<AdminService>, sessions: Arc<Sessions>, facts: Facts) -> Self {
        let process = RequestId::new(service.clock.now(), service.seed.as_ref());
        let api = LocalApi::new(Arc::clone(&service), "console");
        Self(Arc::new(PageContext {
            service,
            api,
            document: OnceCell::new(),
            sessions,
            facts,
            runs: Runs::default(),
            noted_reads: NotedReads::default(),
            once: Once::new(process),
        }))
    }

    /// The pages as the listener serves them.
    #[must_use]
    pub fn console(self) -> Console {
        let refuse = self.clone();
        let (pages, no_method) = (Arc::clone(&self.0), Arc::clone(&self.0));
        let unknown = move |visit: Extension<PageCaller>, request: Request| async move {
            pages.without_page(&visit, request.uri().path(), Theme::of(request.headers()))
        };
        let other_method = move |visit: Extension<PageCaller>, path: MatchedPath, headers: HeaderMap| async move {
            no_method.wrong_method(&visit, &routes::methods(path.as_str()), Theme::of(&headers))
        };
        let elsewhere = from_fn(|request: Request, next: Next| {
            admit(access_elsewhere(request.uri().path()), request, next)
        });
        let router = routes::router(|row| page(&self.0, row))
            .method_not_allowed_fallback(other_method.layer(elsewhere.clone()))
            .fallback(unknown.layer(elsewhere));
        Console { router, refuse: Box::new(move |refusal| refuse.refuse(refusal)) }
    }

    fn refuse(&self, refusal: &ConsoleRefusal<'_>) -> Response<ResponseBody> {
        if refusal.at_login {
            return login::refused(&self.0, refusal);
        }
        let error = PageError::new(refusal.status, refusal.message.clone());
        failure::show(&self.0, refusal.session, Theme::of(&refusal.parts.headers), &error)
    }
}

/// Answers a row's method, for those who may ask.
fn page(pages: &Arc<PageContext>, row: &'static Row) -> MethodRouter {
    let (pages, access) = (Arc::clone(pages), Access { role: row.role, max_body: Some(row.max_body) });
    let show =
        move |id: Result<Path<String>, PathRejection>, visit: Extension<PageCaller>, request: Request| {
            let pages = Arc::clone(&pages);
            async move { pages.respond(row, id, visit.0, request).await }
        };
    let filter = MethodFilter::try_from(row.method.clone()).expect("a common method");
    on(filter, show).route_layer(from_fn(move |request: Request, next: Next| admit(access, request, next)))
}

/// Where there is no page: files are for everybody, and what does not exist is told to those who may read the rest, whatever body
/// they send.
fn access_elsewhere(path: &str) -> Access {
    let is_file = path.starts_with(assets::PREFIX) || path == ICON;
    Access { role: Some(Role::Viewer).filter(|_| !is_file), max_body: None }
}

/// Browsers ask for it by themselves.
const ICON: &str = "/favicon.ico";

impl PageContext {
    async fn respond(
        self: Arc<Self>,
        row: &'static Row,
        id: Result<Path<String>, PathRejection>,
        visit: PageCaller,
        request: Request,
    ) -> Response<ResponseBody> {
        let (parts, body) = request.into_parts();
        let (path, theme) = (parts.uri.path().to_owned(), Theme::of(&parts.headers));
        let Some(id) = row.id_of(id) else { return self.without_page(&visit, &path, theme) };
        // It was read within its limits already.
        let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let session = visit.session.clone();
        let request = PageRequest::new(Arc::clone(&self), parts, body, visit, id);
        self.page_once(row, request, &path).await.unwrap_or_else(|error| {
            if error.status.is_server_error() {
                tracing::error!(path, error = error.message, "a page of the console failed");
            }
            failure::show(&self, session.as_ref(), theme, &error)
        })
    }

    /// A file, or that there is nothing.
    fn without_page(&self, visit: &PageCaller, path: &str, theme: Theme) -> Response<ResponseBody> {
        let icon = (path == ICON).then(|| assets::url("icon.svg"));
        assets::respond(icon.as_deref().unwrap_or(path)).unwrap_or_else(|| {
            let error = PageError::not_found(format!("there is no page at {path}"));
            failure::show(self, visit.session.as_ref(), theme, &error)
        })
    }

    fn wrong_method(&self, visit: &PageCaller, methods: &[&str], theme: Theme) -> Response<ResponseBody> {
        let methods = methods.join(", ");
        let error = PageError::new(StatusCode::METHOD_NOT_ALLOWED, format!("allowed here: {methods}"));
        let mut response = failure::show(self, visit.session.as_ref(), theme, &error);
        response.headers_mut().insert(ALLOW, HeaderValue::from_str(&methods).expect("names of methods"));
        response
    }

    /// The answer, unless it is that to a form that was sent before.
    async fn page_once(&self, row: &Row, mut request: PageRequest, path: &str) -> Outcome {
        let sent = self.once.take(request.session_number(), request.form().text(form::FIELD), path)?;
        request.form_key = sent.as_ref().map(|sent| self.once.key_of(sent));
        let answer = (row.page)(request).await;
        let is_done = answer.as_ref().is_ok_and(|answer| answer.status().as_u16() < 400);
        if let Some(sent) = sent.filter(|_| !is_done) {
            self.once.forget(&sent);
        }
        answer
    }
}
