//! Every address of the console: method, path, who may use it. One row a page or action.

use std::borrow::Cow;
use std::future::Future;
use std::sync::LazyLock;

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
use crate::request::PageRequest;
use crate::resource::{Resource, action, edit, list, one};

/// Bytes of a form, at most.
const FORM: usize = 64 * 1024;
/// Bytes of a form that holds a client's request, with a file of the size that a configuration allows by default.
const REQUEST: usize = 36 << 20;
/// The largest component that a configuration can allow.
const COMPONENT: usize = 64 << 20;

/// What an address shows or does.
type Page = Box<dyn Fn(PageRequest) -> Boxed<'static, Outcome> + Send + Sync>;

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
    page: impl Fn(PageRequest) -> F + Send + Sync + 'static,
) -> Row {
    let page: Page = Box::new(move |request| Box::pin(page(request)));
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
        row(READ, "/", home::show),
        row(READ, "/live", |request| async move { Ok(home::live(request)) }),
        // It changes nothing but how this browser shows the pages.
        row(Use { role: Role::Viewer, ..CHANGE }, "/appearance", |request| async move {
            Ok(shell::appearance(&request))
        }),
        Row { role: None, ..row(READ, "/login", |request| async move { Ok(login::show(&request)) }) },
        Row {
            role: None,
            ..row(READ, "/login/arrived", |request| async move { Ok(login::arrived(&request)) })
        },
        row(FILL_IN, "/logs-download", logs::download),
        // What is sent and what comes back are prompts and results.
        row(FILL_IN, "/playground", playground::list),
        row(FILL_IN, "/playground/{id}", playground::show),
        row(Use { max_body: REQUEST, ..CHANGE }, "/playground/{id}", playground::act),
        row(FILL_IN, "/playground/{id}/live", |request| async move { playground::follow(request) }),
        row(READ, "/plugins", plugins::show),
        row(Use { max_body: COMPONENT, ..CHANGE }, "/plugins/upload", plugins::take),
        row(READ, "/prices", prices::show),
        row(READ, "/price-books/{id}", prices::version),
        row(CHANGE, "/prices", prices::preview),
        row(READ, "/providers", providers::show),
        row(READ, "/system", system::show),
        row(READ, "/system/backup", backup::show),
        row(CHANGE, "/system/backup", backup::begin),
        row(CHANGE, "/system/doctor", system::examine),
        row(CHANGE, "/system/reload", system::reload),
        row(CHANGE, "/system/sessions/{id}/end", system::end_session),
        row(CHANGE, "/system/sessions/end", system::end_all_sessions),
        // Results may quote what a client wrote.
        row(FILL_IN, "/admin/media/{id}", tasks::media::show),
        row(READ, "/tasks/{id}", tasks::one::show),
        row(CHANGE, "/tasks/{id}/cancel", tasks::one::cancel),
        row(READ, "/tasks/{id}/live", tasks::one::follow),
        row(CHANGE, "/tasks/{id}/reconcile", tasks::one::reconcile),
        row(READ, "/usage", usage::show),
    ]
}

/// The pages of a kind.
fn of_kind(kind: &'static Resource) -> Vec<Row> {
    let path = kind.path;
    let see = Use { role: kind.role, ..READ };
    let mut rows = Vec::new();
    if !kind.empty.0.is_empty() {
        rows.push(row(see, path, move |request| list::show(request, kind)));
    }
    if kind.live {
        let live = format!("{path}-live");
        rows.push(row(see, live, move |request| async move { Ok(list::follow(request, kind)) }));
    }
    if kind.has_page {
        rows.push(row(see, format!("{path}/{{id}}"), move |request| one::show(request, kind)));
    }
    if !kind.create.is_empty() {
        let edit = format!("{path}/{{id}}/edit");
        rows.push(row(FILL_IN, format!("{path}/new"), move |request| edit::new(request, kind)));
        rows.push(row(CHANGE, path, move |request| edit::create(request, kind)));
        rows.push(row(FILL_IN, edit.clone(), move |request| edit::show(request, kind)));
        rows.push(row(CHANGE, edit, move |request| edit::save(request, kind)));
    }
    rows.extend(kind.actions.iter().map(|action| {
        let path = format!("{path}/{{id}}/{}", action.word);
        row(CHANGE, path, move |request| action::act(request, kind, action))
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
