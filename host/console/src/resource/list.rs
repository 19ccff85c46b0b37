//! A list: search, filters, rows with what may be done to each, and the pages of it.

use gatehouse_admin::{ApiRefusal, ApiRequest, ResponseBody};
use http::{Response, StatusCode};
use maud::{Markup, html};
use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::Resource;
use super::column::Look;
use crate::context::PageContext;
use crate::error::PageError;
use crate::form::Form;
use crate::parts::elements::empty;
use crate::parts::shell::Shell;
use crate::request::PageRequest;

/// A text that is looked for.
#[derive(Clone, Copy)]
pub(crate) struct Search {
    pub(crate) placeholder: &'static str,
    /// What ids begin with for people.
    pub(crate) prefix: &'static str,
    /// Parameters of the API. A first page begins with what fits the earlier ones; pages go on by the last one.
    pub(crate) parameters: &'static [&'static str],
}

/// A field above the list, by the name of a parameter of the API.
#[derive(Clone, Copy)]
pub(crate) enum Filter {
    Text {
        name: &'static str,
        label: &'static str,
        prefix: &'static str,
    },
    Flag {
        name: &'static str,
        label: &'static str,
    },
    /// A box that takes these values away.
    Unless {
        name: &'static str,
        label: &'static str,
        sends: &'static [(&'static str, &'static str)],
    },
}

impl Filter {
    const fn name(&self) -> &'static str {
        match self {
            Self::Text { name, .. } | Self::Flag { name, .. } | Self::Unless { name, .. } => name,
        }
    }

    /// What the API is asked for.
    fn sent(&self, query: &Form) -> Vec<(&'static str, String)> {
        let is_on = query.is_on(self.name());
        match self {
            Self::Text { name, prefix, .. } if is_on => {
                let text = query.text(name);
                vec![(*name, text.strip_prefix(prefix).unwrap_or(text).to_owned())]
            }
            Self::Flag { name, .. } if is_on => vec![(*name, "true".to_owned())],
            Self::Unless { sends, .. } if !is_on => {
                sends.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
            }
            _ => Vec::new(),
        }
    }

    fn show(&self, query: &Form, is_first: bool) -> Markup {
        let name = self.name();
        match self {
            Self::Text { label, .. } => html! {
                label for=(name) { (label) }
                input.short id=(name) type="search" name=(name) value=(query.text(name)) autocomplete="off" data-search[is_first];
            },
            Self::Flag { label, .. } | Self::Unless { label, .. } => html! {
                label.check { input type="checkbox" name=(name) value="true" checked[query.is_on(name)]; " " (label) }
            },
        }
    }
}

/// Rows, and where the next page begins.
pub(crate) struct Found {
    pub(crate) rows: Vec<Value>,
    pub(crate) next: Option<String>,
}

/// `GET` of the list, with `q`, the filters, `cursor` and `marked`.
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
    resource: &'static Resource,
) -> Result<Response<ResponseBody>, PageError> {
    let query = &request.query;
    let found = resource.find(pages, request).await?;
    let look = Look::of(request);
    let (many, one) = resource.names;
    let new = resource.forms.filter(|forms| request.is_operator() && forms.create.is_some());
    let new = new.map(|_| (format!("{}/new", resource.path), format!("New {one}")));
    let is_filtered = query.is_on("q") || resource.filters.iter().any(|filter| query.is_on(filter.name()));
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), resource.section, many);
    Ok(shell.page(StatusCode::OK, &html! {
        @if resource.path != resource.section { p.crumbs { a href=(resource.section) { "Back" } } }
        div.title {
            h1 { (many) }
            @if let Some((address, words)) = &new { a.button.primary href=(address) data-new { (words) } }
            @if resource.has_csv { a.button href=(resource.csv(query)) download { "Download as CSV" } }
        }
        @if !resource.about.is_empty() { p.muted { (resource.about) } }
        @if resource.search.is_some() || !resource.filters.is_empty() { (resource.toolbar(query)) }
        @if found.rows.is_empty() && found.next.is_none() && !is_filtered {
            (empty(resource.empty.0, new.as_ref().map(|(address, words)| (address.as_str(), words.as_str())), resource.empty.1))
        } @else if found.rows.is_empty() {
            p.empty {
                "No " (one) " fits" @if found.next.is_some() { " among those looked at so far" } ". "
                a href=(resource.path) { "Show all" }
            }
        } @else {
            (resource.table(&found.rows, many, &look))
        }
        (pager(resource.is_newest_first, query.is_on("cursor"), found.next.as_deref(), |cursor| resource.page_address(query, cursor)))
    }))
}

/// The links to the first and to the next page.
pub(crate) fn pager(
    is_newest_first: bool,
    is_later: bool,
    next: Option<&str>,
    address: impl Fn(&str) -> String,
) -> Markup {
    let (first, onward) = if is_newest_first { ("Newest", "Older") } else { ("First", "Next") };
    html! {
        @if is_later || next.is_some() {
            p.pager {
                @if is_later { a.button href=(address("")) { (first) } @if next.is_some() { " " } }
                @if let Some(next) = next { a.button href=(address(next)) { (onward) } }
            }
        }
    }
}

impl Resource {
    async fn find(&self, pages: &PageContext, request: &PageRequest) -> Result<Found, PageError> {
        let query = &request.query;
        let list = |parameter: Option<&str>, wanted: &str| {
            let mut list = ApiRequest::get(self.api).query("limit", self.rows);
            for (name, value) in self.filters.iter().flat_map(|filter| filter.sent(query)) {
                list = list.query(name, value);
            }
            list.query_if(parameter.unwrap_or_default(), parameter.map(|_| wanted))
        };
        let wanted = query.text("q");
        let search = self.search.filter(|_| !wanted.is_empty());
        let wanted = search.map_or("", |search| wanted.strip_prefix(search.prefix).unwrap_or(wanted));
        let (mut rows, marked) = (Vec::new(), query.text("marked"));
        let (last, earlier) = match search.and_then(|search| search.parameters.split_last()) {
            Some((last, earlier)) => (Some(*last), earlier),
            None => (None, &[][..]),
        };
        let cursor = query.text("cursor");
        if cursor.is_empty() {
            for parameter in earlier {
                rows.extend(page(pages, request, list(Some(parameter), wanted)).await?.rows);
            }
            if !marked.is_empty() && wanted.is_empty() {
                let path: Vec<&str> = self.api.iter().copied().chain([marked]).collect();
                rows.extend(pages.read(request, &path).await.ok());
            }
        }
        let rest = list(last, wanted).query_if("cursor", Some(cursor).filter(|cursor| !cursor.is_empty()));
        let Found { rows: rest, next } = page(pages, request, rest).await?;
        let first: Vec<String> = rows.iter().map(|row| self.id_of(row)).collect();
        rows.extend(rest.into_iter().filter(|row| !first.contains(&self.id_of(row))));
        Ok(Found { rows, next })
    }

    /// A table of these.
    pub(crate) fn table(&self, rows: &[Value], caption: &str, look: &Look<'_>) -> Markup {
        let has_actions = look.is_operator && self.actions_in(true).next().is_some();
        html! {
            div.scroll role="region" aria-label=(caption) tabindex="0" {
                table.cards data-rows {
                    caption { (caption) }
                    thead { tr {
                        @for column in self.columns { th scope="col" .right[column.is_right()] { (column.label) } }
                        @if has_actions { th scope="col" { "Action" } }
                    } }
                    tbody { @for row in rows { (self.row(row, has_actions, look)) } }
                }
            }
        }
    }

    fn row(&self, row: &Value, has_actions: bool, look: &Look<'_>) -> Markup {
        let id = self.id_of(row);
        let address = self.address(&id);
        html! {
            tr .marked[id == look.marked] {
                @for (at, column) in self.columns.iter().enumerate() {
                    td class=[column.class] data-label=[(at > 0).then_some(column.label)] { (column.show(row, &address, look)) }
                }
                @if has_actions {
                    td.buttons {
                        @for action in self.actions_in(true).filter(|action| (action.when)(row)) { (action.show(self, row, look)) }
                    }
                }
            }
        }
    }

    fn toolbar(&self, query: &Form) -> Markup {
        html! {
            form.toolbar method="get" role="search" {
                @if let Some(search) = self.search {
                    label for="q" { "Search" }
                    input #q type="search" name="q" value=(query.text("q")) placeholder=(search.placeholder) data-search;
                }
                @for (at, filter) in self.filters.iter().enumerate() { (filter.show(query, at == 0 && self.search.is_none())) }
                button { "Show" }
            }
        }
    }

    /// The list with the same filter, from that cursor on.
    fn page_address(&self, query: &Form, cursor: &str) -> String {
        let mut fields = Serializer::new(String::new());
        let names = self.filters.iter().map(Filter::name);
        for name in self.search.map(|_| "q").into_iter().chain(names).filter(|name| query.is_on(name)) {
            fields.append_pair(name, query.text(name));
        }
        if !cursor.is_empty() {
            fields.append_pair("cursor", cursor);
        }
        format!("{}?{}", self.path, fields.finish())
    }

    /// The export of the admin API with the same filter.
    fn csv(&self, query: &Form) -> String {
        let mut fields = Serializer::new(String::new());
        fields.extend_pairs(self.filters.iter().flat_map(|filter| filter.sent(query)));
        let (path, fields) = (self.api.join("/"), fields.finish());
        let mark = if fields.is_empty() { "" } else { "?" };
        format!("/admin/v1/{path}.csv{mark}{fields}")
    }
}

/// One page of a list of the API.
pub(crate) async fn page(
    pages: &PageContext,
    request: &PageRequest,
    list: ApiRequest,
) -> Result<Found, ApiRefusal> {
    let mut body = pages.ask(request, list).await?.body;
    let next = body["next"].as_str().map(str::to_owned);
    let rows = match body["data"].take() {
        Value::Array(rows) => rows,
        _ => Vec::new(),
    };
    Ok(Found { rows, next })
}

/// Every row of a list of the API that is known to be short.
pub(crate) async fn every(
    pages: &PageContext,
    request: &PageRequest,
    list: impl Fn() -> ApiRequest,
) -> Result<Vec<Value>, ApiRefusal> {
    let (mut rows, mut cursor) = (Vec::new(), None);
    loop {
        let found = page(pages, request, list().query("limit", 100).query_if("cursor", cursor)).await?;
        rows.extend(found.rows);
        cursor = found.next;
        if cursor.is_none() {
            return Ok(rows);
        }
    }
}
