//! Every address of the console: method, path, who may use it. One row a page or action.

use std::borrow::Cow;
use std::future::Future;
use std::sync::{Arc, LazyLock};

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::routing::MethodRouter;
use gatehouse_admin::Role;
use gatehouse_model::Boxed;
use http::Method;

use crate::error::Outcome;
use crate::kinds::{self, logs};
use crate::pages::{backup, home, login, playground, plugins, prices, providers, system, tasks, usage};
use crate::parts::shell;
use crate::request::{PageContext, PageRequest};
use crate::resource::{Resource, action, edit, list, one};

/// Bytes of a form, at most.
const FORM: usize = 64 * 1024;
/// Bytes of a form that holds a client's request, with a file of the size that a configuration allows by default.
const REQUEST: usize = 36 << 20;
/// The largest component that a configuration can allow.
const COMPONENT: usize = 64 << 20;

/// What an address shows or does.
type Page = Box<dyn Fn(Arc<PageContext>, PageRequest) -> Boxed<'static, Outcome> + Send + Sync>;

/// One address.
pub(crate) struct Row {
    pub(crate) method: &'static Method,
    /// `{id}` stands for one part, the id of what the page is about.
    pub(crate) path: Cow<'static, str>,
    /// Missing for what everybody may read.
    pub(crate) role: Option<Role>,
    pub(crate) max_body: usize,
    pub(crate) page: Page,
}

/// How an address is used, and by whom.
#[derive(Clone, Copy)]
struct Use {
    method: &'static Method,
    role: Role,
    max_body: usize,
}

fn row<F: Future<Output = Outcome> + Send + 'static>(
    Use { method, role, max_body }: Use,
    path: impl Into<Cow<'static, str>>,
    page: impl Fn(Arc<PageContext>, PageRequest) -> F + Send + Sync + 'static,
) -> Row {
    let page: Page = Box::new(move |pages, request| Box::pin(page(pages, request)));
    Row { method, path: path.into(), role: Some(role), max_body, page }
}

/// For everybody with a session.
const READ: Use = Use { method: &Method::GET, role: Role::Viewer, max_body: 0 };
/// A form for operators only; there is nothing in it for a viewer.
const FILL_IN: Use = Use { role: Role::Operator, ..READ };
const CHANGE: Use = Use { method: &Method::POST, role: Role::Operator, max_body: FORM };

pub(crate) static ROWS: LazyLock<Vec<Row>> =
    LazyLock::new(|| own().into_iter().chain(kinds::ALL.iter().flat_map(|kind| of_kind(kind))).collect());

/// The pages that no description of a kind makes.
fn own() -> Vec<Row> {
    vec![
        row(READ, "/", |p, r| async move { home::show(&p, &r).await }),
        row(READ, "/live", |p, r| async move { Ok(home::live(&p, r)) }),
        // It changes nothing but how this browser shows the pages.
        row(
            Use { role: Role::Viewer, ..CHANGE },
            "/appearance",
            |_, r| async move { Ok(shell::appearance(&r)) },
        ),
        Row { role: None, ..row(READ, "/login", |p, r| async move { Ok(login::show(&p, &r)) }) },
        Row { role: None, ..row(READ, "/login/arrived", |_, r| async move { Ok(login::arrived(&r)) }) },
        row(FILL_IN, "/logs-download", |p, r| async move { logs::download(&p, &r).await }),
        // What is sent and what comes back are prompts and results.
        row(FILL_IN, "/playground", |p, r| async move { playground::list(&p, &r).await }),
        row(FILL_IN, "/playground/{id}", |p, r| async move { playground::show(&p, &r).await }),
        row(Use { max_body: REQUEST, ..CHANGE }, "/playground/{id}", |p, r| async move {
            playground::act(&p, &r).await
        }),
        row(FILL_IN, "/playground/{id}/live", |p, r| async move { playground::follow(&p, r) }),
        row(READ, "/plugins", |p, r| async move { plugins::show(&p, &r).await }),
        row(Use { max_body: COMPONENT, ..CHANGE }, "/plugins/upload", |p, r| async move {
            plugins::take(&p, &r).await
        }),
        row(READ, "/prices", |p, r| async move { prices::show(&p, &r).await }),
        row(READ, "/price-books/{id}", |p, r| async move { prices::version(&p, &r).await }),
        row(CHANGE, "/prices", |p, r| async move { prices::preview(&p, &r).await }),
        row(READ, "/providers", |p, r| async move { providers::show(&p, &r).await }),
        row(READ, "/system", |p, r| async move { Ok(system::show(&p, &r).await) }),
        row(READ, "/system/backup", |p, r| async move { backup::show(&p, &r).await }),
        row(CHANGE, "/system/backup", |p, r| async move { backup::begin(&p, &r).await }),
        row(CHANGE, "/system/doctor", |p, r| async move { system::examine(&p, &r).await }),
        row(CHANGE, "/system/reload", |p, r| async move { system::reload(&p, &r).await }),
        row(CHANGE, "/system/sessions/{id}/end", |p, r| async move { system::end_session(&p, &r).await }),
        row(CHANGE, "/system/sessions/end", |p, r| async move { system::end_all_sessions(&p, &r).await }),
        // Results may quote what a client wrote.
        row(FILL_IN, "/admin/media/{id}", |p, r| async move { tasks::media::show(&p, &r).await }),
        row(READ, "/tasks/{id}", |p, r| async move { tasks::one::show(&p, &r).await }),
        row(CHANGE, "/tasks/{id}/cancel", |p, r| async move { tasks::one::cancel(&p, &r).await }),
        row(READ, "/tasks/{id}/live", |p, r| async move { tasks::one::follow(&p, r) }),
        row(CHANGE, "/tasks/{id}/reconcile", |p, r| async move { tasks::one::reconcile(&p, &r).await }),
        row(READ, "/usage", |p, r| async move { usage::show(&p, &r).await }),
    ]
}

/// The pages of a kind.
fn of_kind(kind: &'static Resource) -> Vec<Row> {
    let path = kind.path;
    let see = Use { role: kind.role, ..READ };
    let mut rows = Vec::new();
    if !kind.empty.0.is_empty() {
        rows.push(row(see, path, move |p, r| async move { list::show(&p, &r, kind).await }));
    }
    if kind.live {
        rows.push(row(see, format!("{path}-live"), move |p, r| async move { Ok(list::follow(&p, r, kind)) }));
    }
    if kind.has_page {
        rows.push(row(
            see,
            format!("{path}/{{id}}"),
            move |p, r| async move { one::show(&p, &r, kind).await },
        ));
    }
    if let Some(forms) = kind.forms {
        if forms.create.is_some() {
            rows.push(row(FILL_IN, format!("{path}/new"), move |p, r| async move {
                edit::new(&p, &r, kind).await
            }));
            rows.push(row(CHANGE, path, move |p, r| async move { edit::create(&p, &r, kind).await }));
        }
        if forms.edit.is_some() {
            let path = format!("{path}/{{id}}/edit");
            rows.push(row(FILL_IN, path.clone(), move |p, r| async move { edit::show(&p, &r, kind).await }));
            rows.push(row(CHANGE, path, move |p, r| async move { edit::save(&p, &r, kind).await }));
        }
    }
    rows.extend(kind.actions.iter().map(|action| {
        row(CHANGE, format!("{path}/{{id}}/{}", action.word), move |p, r| async move {
            action::act(&p, &r, kind, action).await
        })
    }));
    rows
}

/// Every row at its path, answered by what `show` makes of it.
pub(crate) fn router(show: impl Fn(&'static Row) -> MethodRouter) -> axum::Router {
    ROWS.iter().fold(axum::Router::new(), |router, row| router.route(&row.path, show(row)))
}

/// The methods of the rows at a path, as [`Row::path`] writes it.
pub(crate) fn methods(path: &str) -> Vec<&'static str> {
    ROWS.iter().filter(|row| row.path == path).map(|row| row.method.as_str()).collect()
}

impl Row {
    /// The id in the path of a request; empty where the path has none. `None` where it is no text.
    pub(crate) fn id_of(&self, found: Result<Path<String>, PathRejection>) -> Option<String> {
        match self.path.contains("{id}") {
            true => found.ok().map(|Path(id)| id),
            false => Some(String::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::extract::{MatchedPath, Request};
    use axum::routing::{MethodFilter, on};
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::*;

    async fn found(method: &Method, path: &str) -> String {
        let show = |row: &'static Row| {
            let filter = MethodFilter::try_from(row.method.clone()).unwrap();
            on(filter, move |id: Result<Path<String>, PathRejection>| async move {
                let id = row.id_of(id);
                id.map_or_else(|| "nothing".to_owned(), |id| format!("{} {} {id}", row.method, row.path))
            })
        };
        let router = router(show)
            .method_not_allowed_fallback(|path: MatchedPath| async move { methods(path.as_str()).join(" ") })
            .fallback(|| async { "nothing" });
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let answer = router.oneshot(request).await.unwrap();
        String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn paths_lead_to_pages() {
        for (method, path, expected) in [
            (Method::GET, "/", "GET / "),
            // A handler of GET answers, without a body.
            (Method::HEAD, "/keys", ""),
            (Method::POST, "/keys", "POST /keys "),
            (Method::GET, "/keys/new", "GET /keys/new "),
            (Method::GET, "/keys/abc", "GET /keys/{id} abc"),
            (Method::GET, "/customers/a%40b.c", "GET /customers/{id} a@b.c"),
            (Method::GET, "/customers/a%2Fb", "GET /customers/{id} a/b"),
            (Method::GET, "/customers/%ff", "nothing"),
            (Method::GET, "/customers/%4", "GET /customers/{id} %4"),
            (Method::GET, "/customers/", "nothing"),
            (Method::POST, "/keys/abc/revoke", "POST /keys/{id}/revoke abc"),
            (Method::GET, "/keys/abc/revoke", "POST"),
            (Method::DELETE, "/keys", "GET POST"),
            (Method::GET, "/v1/models", "nothing"),
            (Method::POST, "/system/sessions/end", "POST /system/sessions/end "),
        ] {
            assert_eq!(found(&method, path).await, expected, "{method} {path}");
        }
    }

    #[test]
    fn what_changes_something_needs_an_operator() {
        for row in ROWS.iter().filter(|row| row.method != Method::GET && row.path != "/appearance") {
            assert_eq!(row.role, Some(Role::Operator), "{}", row.path);
        }
    }
}
