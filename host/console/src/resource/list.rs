//! A list: search, filters, sums, rows with what may be done to each, and the pages of it; again whenever it changes.

use gatehouse_admin::{ApiRefusal, ApiRequest, ResponseBody};
use http::{Response, StatusCode};
use maud::{Markup, html};
use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::Resource;
use super::column::Column;
use crate::error::{Outcome, PageError};
use crate::form::Form;
use crate::parts::elements::{Problems, empty};
use crate::parts::live;
use crate::parts::shell::Shell;
use crate::request::PageRequest;

/// Rows, where the next page begins, and what all rows come to.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) rows: Vec<Value>,
    pub(crate) next: Option<String>,
    sums: Value,
}

/// `GET` of the list, with `q`, the filters, `cursor` and `marked`.
pub(crate) async fn show(request: PageRequest, resource: &'static Resource) -> Outcome {
    let request = &request;
    let (query, resource) = (&request.query, resource.chosen(&request.query));
    let (mut problems, mut status) = (Problems::default(), StatusCode::OK);
    let mut rows = html! {};
    match resource.find(request, &mut problems).await {
        Ok(found) => rows = resource.rows(request, &found),
        // Only a running gateway has it.
        Err(refusal) if refusal.status == 409 => rows = empty(&refusal.message, None, resource.empty.1),
        Err(refusal) if matches!(refusal.status, 400 | 404) => {
            status = PageError::from(refusal.clone()).status;
            problems.add("", refusal.message);
        }
        Err(refusal) => return Err(refusal.into()),
    }
    if !problems.is_empty() {
        status = if status == StatusCode::OK { StatusCode::UNPROCESSABLE_ENTITY } else { status };
        rows = html! {};
    }
    let (many, new) = (resource.names.0, resource.new_one(request));
    let shell = Shell::new(request, resource.section, many);
    Ok(shell.page(status, &html! {
        @if resource.path != resource.section { p.crumbs { a href=(resource.section) { "Back" } } }
        div.title {
            h1 { (many) }
            @if resource.live { span.muted data-live-state {} button type="button" data-pauses hidden { "Pause" } }
            @if let Some((address, words)) = &new { a.button.primary href=(address) data-new { (words) } }
            @if let Some(address) = resource.file(request) { a.button href=(address) download { (resource.download.1) } }
        }
        @if let Some(tabs) = resource.tabs {
            nav.tabs aria-label=(many) { @for (value, name, tab) in tabs.all {
                a href={ (tab.path) "?" (tabs.parameter) "=" (value) } aria-current=[(tab.api == resource.api && tab.query == resource.query).then_some("page")] { (name) }
            } }
        }
        @if !resource.about.is_empty() { p.muted { (resource.about) } }
        @if resource.search.is_some() || !resource.filters.is_empty() { (resource.toolbar(request)) }
        (problems.summary_as("There is no such list"))
        div data-live=[resource.live.then(|| resource.page_address("-live", query, query.text("cursor")))] { (rows) }
    }))
}

/// `GET <path>-live`: the same rows again whenever they change.
pub(crate) fn follow(request: PageRequest, resource: &'static Resource) -> Response<ResponseBody> {
    live::stream(request, move |mut request| async move {
        let (resource, mut problems) = (resource.chosen(&request.query), Problems::default());
        let found = resource.find(&request, &mut problems).await.ok()?;
        // Not before the rows were read: what came meanwhile would lie ahead.
        request.now = request.pages.service.clock.now();
        problems.is_empty().then(|| resource.rows(&request, &found).into())
    })
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
    /// Of several lists at one address the one that a query means.
    fn chosen(&'static self, query: &Form) -> &'static Self {
        let Some(tabs) = self.tabs else { return self };
        let wanted = query.text(tabs.parameter);
        tabs.all.iter().find(|(value, ..)| *value == wanted).map_or(self, |(_, _, resource)| resource)
    }

    /// The same list without a filter.
    fn only_tab(&self, query: &Form) -> Form {
        let mut tab = Form::default();
        if let Some(tabs) = self.tabs {
            tab.push(tabs.parameter, query.text(tabs.parameter).to_owned());
        }
        tab
    }

    /// What the filters of a query ask the API for.
    fn sent(&self, request: &PageRequest, problems: &mut Problems) -> Vec<(&'static str, String)> {
        let filters = self.filters.iter();
        filters.flat_map(|filter| filter.sent(&request.query, request.now, problems)).collect()
    }

    /// The list of the API with the filters of a query.
    pub(crate) fn request(
        &self,
        path: &[&str],
        request: &PageRequest,
        problems: &mut Problems,
    ) -> ApiRequest {
        let sent = self.sent(request, problems);
        sent.into_iter().fold(ApiRequest::get(path), |list, (name, value)| list.query(name, value))
    }

    async fn find(&self, request: &PageRequest, problems: &mut Problems) -> Result<Found, ApiRefusal> {
        let query = &request.query;
        let filtered = self.request(self.api, request, problems).query("limit", self.rows);
        let filtered = self.query.iter().fold(filtered, |list, (name, value)| list.query(name, value));
        let list = |parameter: Option<&str>, wanted: &str| {
            filtered.clone().query_if(parameter.unwrap_or_default(), parameter.map(|_| wanted))
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
                rows.extend(page(request, list(Some(parameter), wanted)).await?.rows);
            }
            if !marked.is_empty() && wanted.is_empty() {
                let path: Vec<&str> = self.api.iter().copied().chain([marked]).collect();
                rows.extend(request.read(&path).await.ok());
            }
        }
        let rest = list(last, wanted).query_if("cursor", Some(cursor).filter(|cursor| !cursor.is_empty()));
        let mut found = page(request, rest).await?;
        let first: Vec<String> = rows.iter().map(|row| self.id_of(row)).collect();
        rows.extend(found.rows.into_iter().filter(|row| !first.contains(&self.id_of(row))));
        if !self.sums.is_empty() {
            found.sums = match request.ask(self.request(self.sums, request, problems)).await {
                Ok(answer) => answer.body,
                // What cannot be added up is listed all the same.
                Err(refusal) if refusal.status == 400 => refusal.message.into(),
                Err(refusal) => return Err(refusal),
            };
        }
        Ok(Found { rows, ..found })
    }

    /// What changes while a page is open: sums, rows, and the way to more of them.
    fn rows(&self, request: &PageRequest, found: &Found) -> Markup {
        let hint = self.empty.1.replace("$GATEWAY", &request.pages.facts.public_url);
        let (query, one) = (&request.query, self.names.1);
        let is_filtered = query.is_on("q")
            || self.filters.iter().flat_map(|filter| filter.names()).any(|name| query.is_on(name));
        let new = self.new_one(request);
        html! {
            @match &found.sums {
                Value::String(why) => p.muted { (why) },
                sums => (self.figures(sums, request)),
            }
            @if found.rows.is_empty() && found.next.is_none() && !is_filtered {
                (empty(self.empty.0, new.as_ref().map(|(address, words)| (address.as_str(), words.as_str())), &hint))
            } @else if found.rows.is_empty() {
                p.empty {
                    "No " (one) " fits" @if found.next.is_some() { " among those looked at so far" } ". "
                    a href=(self.page_address("", &self.only_tab(query), "")) { "Show all" }
                }
            } @else {
                (self.table(&found.rows, self.names.0, request))
            }
            (pager(self.is_newest_first, query.is_on("cursor"), found.next.as_deref(), |cursor| self.page_address("", query, cursor)))
        }
    }

    /// Sums of an object, or of a list; those that it has.
    pub(super) fn figures(&self, sums: &Value, request: &PageRequest) -> Markup {
        html! {
            @if sums.is_object() && !self.figures.is_empty() {
                dl.figures { @for figure in self.figures.iter().filter(|figure| figure.has(sums)) {
                    div { dt { (figure.label) } dd { (figure.show(sums, "", request)) } }
                } }
            }
        }
    }

    /// The form for a new one, where there is one for this person.
    fn new_one(&self, request: &PageRequest) -> Option<(String, String)> {
        let has_form = request.is_operator() && !self.create.is_empty();
        has_form.then(|| (format!("{}/new", self.path), format!("New {}", self.names.1)))
    }

    /// A table of these.
    pub(crate) fn table(&self, rows: &[Value], caption: &str, request: &PageRequest) -> Markup {
        let has_actions = request.is_operator() && !self.has_page && !self.actions.is_empty();
        let columns: Vec<&Column> = self.columns.iter().filter(|column| column.is_of(rows)).collect();
        html! {
            div.scroll role="region" aria-label=(caption) tabindex="0" {
                table.cards data-rows {
                    caption { (caption) }
                    thead { tr {
                        @for column in &columns { th scope="col" .right[column.is_right()] { (column.label) } }
                        @if has_actions { th scope="col" { "Action" } }
                    } }
                    tbody { @for row in rows { (self.row(row, &columns, has_actions, request)) } }
                }
            }
        }
    }

    fn row(&self, row: &Value, columns: &[&Column], has_actions: bool, request: &PageRequest) -> Markup {
        let id = self.id_of(row);
        let address = self.address(&id);
        html! {
            tr .marked[id == request.query.text("marked") && !id.is_empty()] {
                @for (at, column) in columns.iter().enumerate() {
                    td class=[column.class] data-label=[(at > 0).then_some(column.label)] { (column.show(row, &address, request)) }
                }
                @if has_actions {
                    td.buttons {
                        @for action in self.actions.iter().filter(|action| (action.when)(row)) { (action.show(self, row, request, &html! {})) }
                    }
                }
            }
        }
    }

    fn toolbar(&self, request: &PageRequest) -> Markup {
        let query = &request.query;
        html! {
            form.toolbar method="get" role="search" {
                @if let Some(tabs) = self.tabs { input type="hidden" name=(tabs.parameter) value=(query.text(tabs.parameter)); }
                @if let Some(search) = self.search {
                    label for="q" { "Search" }
                    input #q type="search" name="q" value=(query.text("q")) placeholder=(search.placeholder) data-search;
                }
                @for (at, filter) in self.filters.iter().enumerate() {
                    (filter.show(query, request.now, at == 0 && self.search.is_none()))
                }
                button { "Show" }
            }
        }
    }

    /// The list with the same filter, from that cursor on; its path ends so.
    fn page_address(&self, ending: &str, query: &Form, cursor: &str) -> String {
        let mut fields = Serializer::new(String::new());
        let names = self.filters.iter().flat_map(|filter| filter.names().iter().copied());
        let tab = self.tabs.map(|tabs| tabs.parameter);
        let names = tab.into_iter().chain(self.search.map(|_| "q")).chain(names);
        for name in names.filter(|name| query.is_on(name)) {
            fields.append_pair(name, query.text(name));
        }
        if !cursor.is_empty() {
            fields.append_pair("cursor", cursor);
        }
        let (fields, path) = (fields.finish(), self.path);
        if fields.is_empty() { format!("{path}{ending}") } else { format!("{path}{ending}?{fields}") }
    }

    /// The list as a file, with the same filter.
    fn file(&self, request: &PageRequest) -> Option<String> {
        let (path, _) = self.download;
        if path.is_empty() {
            return None;
        }
        // A page of the console takes its own names, the API those of its parameters.
        if !path.starts_with("/admin/") {
            let address = self.page_address("", &request.query, "");
            return Some(address.replacen(self.path, path, 1));
        }
        let mut fields = Serializer::new(String::new());
        fields.extend_pairs(self.sent(request, &mut Problems::default()));
        let fields = fields.finish();
        Some(format!("{path}{}{fields}", if fields.is_empty() { "" } else { "?" }))
    }
}

/// A table of what has no page of its own and no id that an address could mark.
pub(crate) fn table(
    columns: &'static [Column],
    rows: &[Value],
    caption: &str,
    request: &PageRequest,
) -> Markup {
    Resource { id: "", columns, ..Resource::READ }.table(rows, caption, request)
}

/// One page of a list of the API.
pub(crate) async fn page(request: &PageRequest, list: ApiRequest) -> Result<Found, ApiRefusal> {
    let mut body = request.ask(list).await?.body;
    let next = body["next"].as_str().map(str::to_owned);
    let rows = match body["data"].take() {
        Value::Array(rows) => rows,
        _ => Vec::new(),
    };
    let sums = body["total"].take();
    Ok(Found { rows, next, sums })
}

/// Every row of a list of the API that is known to be short.
pub(crate) async fn every(
    request: &PageRequest,
    list: impl Fn() -> ApiRequest,
) -> Result<Vec<Value>, ApiRefusal> {
    let (mut rows, mut cursor) = (Vec::new(), None);
    loop {
        let found = page(request, list().query("limit", 100).query_if("cursor", cursor)).await?;
        rows.extend(found.rows);
        cursor = found.next;
        if cursor.is_none() {
            return Ok(rows);
        }
    }
}
