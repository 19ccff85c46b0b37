//! Every address of the console: method, path, who may use it. One row a page or action.

use std::borrow::Cow;
use std::sync::LazyLock;

use gatehouse_admin::Role;
use http::Method;

use crate::kinds;
use crate::resource::Resource;
use crate::resource::action::Action;

/// Bytes of a form, at most.
const FORM: usize = 64 * 1024;
/// Bytes of a form that holds a client's request, with a file of the size that a configuration allows by default.
const REQUEST: usize = 36 << 20;
/// The largest component that a configuration can allow.
const COMPONENT: usize = 64 << 20;

/// What an address shows or does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Page {
    /// What the description of a kind makes.
    List(&'static Resource),
    New(&'static Resource),
    Create(&'static Resource),
    One(&'static Resource),
    Edit(&'static Resource),
    Save(&'static Resource),
    Act(&'static Resource, &'static Action),
    Appearance,
    Home,
    HomeLive,
    Login,
    Logs,
    LogsDownload,
    LogsLive,
    Media,
    Playground,
    PlaygroundFamily,
    PlaygroundLive,
    PlaygroundSend,
    PluginUpload,
    Plugins,
    PriceBook,
    PricePreview,
    Prices,
    Providers,
    SessionEnd,
    SessionEndAll,
    Statements,
    System,
    SystemDoctor,
    SystemReload,
    Task,
    TaskCancel,
    TaskLive,
    TaskReconcile,
    Tasks,
    TasksLive,
    Usage,
}

/// One address.
pub(crate) struct Row {
    pub(crate) method: &'static Method,
    /// `*` stands for one part, the id of what the page is about.
    pub(crate) path: Cow<'static, str>,
    /// Missing for what everybody may read.
    pub(crate) role: Option<Role>,
    pub(crate) max_body: usize,
    pub(crate) page: Page,
}

fn public(path: impl Into<Cow<'static, str>>, page: Page) -> Row {
    Row { method: &Method::GET, path: path.into(), role: None, max_body: 0, page }
}

fn read(path: impl Into<Cow<'static, str>>, page: Page) -> Row {
    Row { method: &Method::GET, path: path.into(), role: Some(Role::Viewer), max_body: 0, page }
}

/// A form for operators only; there is nothing in it for a viewer.
fn fill_in(path: impl Into<Cow<'static, str>>, page: Page) -> Row {
    Row { method: &Method::GET, path: path.into(), role: Some(Role::Operator), max_body: 0, page }
}

fn change(path: impl Into<Cow<'static, str>>, page: Page) -> Row {
    Row { method: &Method::POST, path: path.into(), role: Some(Role::Operator), max_body: FORM, page }
}

pub(crate) static ROWS: LazyLock<Vec<Row>> =
    LazyLock::new(|| own().into_iter().chain(kinds::ALL.iter().flat_map(|kind| of_kind(kind))).collect());

/// The pages that no description of a kind makes.
fn own() -> Vec<Row> {
    vec![
        read("/", Page::Home),
        read("/live", Page::HomeLive),
        // It changes nothing but how this browser shows the pages.
        Row { role: Some(Role::Viewer), ..change("/appearance", Page::Appearance) },
        public("/login", Page::Login),
        // What a plugin says stands in the log of the process, and may quote what a client wrote.
        fill_in("/logs", Page::Logs),
        fill_in("/logs-download", Page::LogsDownload),
        fill_in("/logs-live", Page::LogsLive),
        // What is sent and what comes back are prompts and results.
        fill_in("/playground", Page::Playground),
        fill_in("/playground/*", Page::PlaygroundFamily),
        Row { max_body: REQUEST, ..change("/playground/*", Page::PlaygroundSend) },
        fill_in("/playground/*/live", Page::PlaygroundLive),
        read("/plugins", Page::Plugins),
        Row { max_body: COMPONENT, ..change("/plugins/upload", Page::PluginUpload) },
        read("/prices", Page::Prices),
        read("/price-books/*", Page::PriceBook),
        change("/prices", Page::PricePreview),
        read("/providers", Page::Providers),
        read("/statements", Page::Statements),
        read("/system", Page::System),
        change("/system/doctor", Page::SystemDoctor),
        change("/system/reload", Page::SystemReload),
        change("/system/sessions/*/end", Page::SessionEnd),
        change("/system/sessions/end", Page::SessionEndAll),
        // Results may quote what a client wrote.
        fill_in("/admin/media/*", Page::Media),
        read("/tasks", Page::Tasks),
        read("/tasks-live", Page::TasksLive),
        read("/tasks/*", Page::Task),
        change("/tasks/*/cancel", Page::TaskCancel),
        read("/tasks/*/live", Page::TaskLive),
        change("/tasks/*/reconcile", Page::TaskReconcile),
        read("/usage", Page::Usage),
    ]
}

/// The pages of a kind.
fn of_kind(kind: &'static Resource) -> Vec<Row> {
    let path = kind.path;
    let mut rows = Vec::new();
    if !kind.empty.0.is_empty() {
        rows.push(read(path, Page::List(kind)));
    }
    if kind.has_page {
        rows.push(read(format!("{path}/*"), Page::One(kind)));
    }
    if let Some(forms) = kind.forms {
        if forms.create.is_some() {
            rows.push(fill_in(format!("{path}/new"), Page::New(kind)));
            rows.push(change(path, Page::Create(kind)));
        }
        if forms.edit.is_some() {
            rows.push(fill_in(format!("{path}/*/edit"), Page::Edit(kind)));
            rows.push(change(format!("{path}/*/edit"), Page::Save(kind)));
        }
    }
    let acts = kind
        .actions
        .iter()
        .map(|action| change(format!("{path}/*/{}", action.word), Page::Act(kind, action)));
    rows.extend(acts);
    rows
}

/// What a path leads to.
pub(crate) enum Found {
    /// A row, and the id in the path.
    Row(&'static Row, String),
    /// Rows of other methods only.
    OtherMethods(Vec<&'static str>),
    Nothing,
}

/// Finds the row of a request; a path without `*` goes before one with it.
pub(crate) fn find(method: &Method, path: &str) -> Found {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let matching = || ROWS.iter().filter_map(|row| Some((row, id_in(&row.path, path)?)));
    let exact_first = matching().filter(|(row, _)| !row.path.contains('*')).chain(matching());
    if let Some((row, id)) = exact_first.clone().find(|(row, _)| row.method == method) {
        return Found::Row(row, id);
    }
    let mut others: Vec<&'static str> = matching().map(|(row, _)| row.method.as_str()).collect();
    others.dedup();
    if others.is_empty() { Found::Nothing } else { Found::OtherMethods(others) }
}

/// The part of `path` at the `*` of `pattern`, decoded; empty where there is none. `None` where they do not fit.
fn id_in(pattern: &str, path: &str) -> Option<String> {
    let (mut id, mut parts) = (String::new(), path.split('/'));
    for wanted in pattern.split('/') {
        let part = parts.next()?;
        match wanted {
            "*" if !part.is_empty() => id = decode(part)?,
            "*" => return None,
            _ if wanted == part => {}
            _ => return None,
        }
    }
    parts.next().is_none().then_some(id)
}

/// Undoes percent escapes.
fn decode(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(method: &Method, path: &str) -> String {
        match find(method, path) {
            Found::Row(row, id) => format!("{:?} {id}", row.page),
            Found::OtherMethods(methods) => methods.join(" "),
            Found::Nothing => "nothing".to_owned(),
        }
    }

    #[test]
    fn paths_lead_to_pages() {
        for (method, path, expected) in [
            (Method::GET, "/", "Home "),
            (Method::HEAD, "/keys", "List(/keys) "),
            (Method::POST, "/keys", "Create(/keys) "),
            (Method::GET, "/keys/new", "New(/keys) "),
            (Method::GET, "/keys/abc", "One(/keys) abc"),
            (Method::GET, "/customers/a%40b.c", "One(/customers) a@b.c"),
            (Method::GET, "/customers/a%2Fb", "One(/customers) a/b"),
            (Method::GET, "/customers/%ff", "nothing"),
            (Method::GET, "/customers/%4", "nothing"),
            (Method::GET, "/customers/", "nothing"),
            (Method::POST, "/keys/abc/revoke", "Act(/keys, revoke) abc"),
            (Method::GET, "/keys/abc/revoke", "POST"),
            (Method::DELETE, "/keys", "GET POST"),
            (Method::GET, "/v1/models", "nothing"),
            (Method::POST, "/system/sessions/end", "SessionEndAll "),
        ] {
            assert_eq!(found(&method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn what_changes_something_needs_an_operator() {
        for row in
            ROWS.iter().filter(|row| row.method != Method::GET && !matches!(row.page, Page::Appearance))
        {
            assert_eq!(row.role, Some(Role::Operator), "{}", row.path);
        }
    }
}
