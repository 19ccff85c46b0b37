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
use crate::pages::{
    failure, home, login, logs, playground, plugins, prices, providers, statements, system, tasks, usage,
};
use crate::parts::shell;
use crate::request::{PageRequest, Theme};
use crate::resource::{action, edit, list, one};
use crate::routes::{self, Found, Page};
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
            return login::refused(refusal);
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
        let actor = request.actor();
        actor.during(self.page_once(row.page, request, &path)).await.unwrap_or_else(|error| {
            if error.status.is_server_error() {
                tracing::error!(path, error = error.message, "a page of the console failed");
            }
            failed(&error)
        })
    }

    /// The answer, unless it is that to a form that was sent before.
    async fn page_once(
        self: &Arc<Self>,
        page: Page,
        request: PageRequest,
        path: &str,
    ) -> Result<Response<ResponseBody>, PageError> {
        let session = request.session.as_ref().map_or(0, |session| session.number);
        let sent = self.once.take(session, request.form().text(once::FIELD), path)?;
        let answer = self.page(page, request).await;
        let is_done = answer.as_ref().is_ok_and(|answer| answer.status().as_u16() < 400);
        if let Some(sent) = sent.filter(|_| !is_done) {
            self.once.forget(&sent);
        }
        answer
    }

    async fn page(
        self: &Arc<Self>,
        page: Page,
        request: PageRequest,
    ) -> Result<Response<ResponseBody>, PageError> {
        match page {
            Page::List(kind) => list::show(self, &request, kind).await,
            Page::New(kind) => edit::new(self, &request, kind).await,
            Page::Create(kind) => edit::create(self, &request, kind).await,
            Page::One(kind) => one::show(self, &request, kind).await,
            Page::Edit(kind) => edit::show(self, &request, kind).await,
            Page::Save(kind) => edit::save(self, &request, kind).await,
            Page::Act(kind, action) => action::act(self, &request, kind, action).await,
            Page::Appearance => Ok(shell::appearance(&request)),
            Page::Home => home::show(self, &request).await,
            Page::HomeLive => Ok(home::live(self, request)),
            Page::Login => Ok(login::show(&request)),
            Page::Logs => logs::show(self, &request),
            Page::LogsDownload => logs::download(self, &request),
            Page::LogsLive => logs::follow(self, request),
            Page::Media => tasks::media::show(self, &request).await,
            Page::Playground => playground::list(self, &request),
            Page::PlaygroundFamily => playground::show(self, &request).await,
            Page::PlaygroundLive => playground::follow(self, request),
            Page::PlaygroundSend => playground::act(self, &request).await,
            Page::PluginUpload => plugins::upload::take(self, &request).await,
            Page::Plugins => plugins::list::show(self, &request).await,
            Page::PricePreview => prices::active::preview(self, &request).await,
            Page::PriceBook => prices::versions::show(self, &request).await,
            Page::Prices => prices::active::show(self, &request).await,
            Page::Providers => providers::show(self, &request).await,
            Page::SessionEnd => system::end_session(self, &request).await,
            Page::SessionEndAll => Ok(system::end_all_sessions(self).await),
            Page::Statements => statements::show(self, &request).await,
            Page::System => system::show(self, &request),
            Page::SystemDoctor => system::examine(self, &request).await,
            Page::SystemReload => system::reload(self, &request).await,
            Page::Task => tasks::one::show(self, &request).await,
            Page::TaskCancel => tasks::one::cancel(self, &request).await,
            Page::TaskReconcile => tasks::one::reconcile(self, &request).await,
            Page::TaskLive => tasks::one::follow(self, request),
            Page::Tasks => tasks::list::show(self, &request).await,
            Page::TasksLive => tasks::list::follow(self, request),
            Page::Usage => usage::show(self, &request).await,
        }
    }
}

/// The icon's address.
static ICON_FILE: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| assets::url("icon.svg"));
