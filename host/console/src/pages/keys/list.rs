//! The list of keys.

use gatehouse_admin::{KeyQuery, KeyState, KeyView, ResponseBody};
use gatehouse_model::{CustomerId, Key, KeyId, UnixMs};
use http::{Response, StatusCode};
use maud::{Markup, html};

use super::super::customers;
use super::state;
use crate::context::PageContext;
use crate::error::PageError;
use crate::format::moment;
use crate::parts::elements::{empty, quota};
use crate::parts::shell::Shell;
use crate::request::PageRequest;

/// Rows on one page; keys that are marked or begin with what is searched for come on top of them.
const ROWS: usize = 50;

/// `GET /keys`, with `q` (part of a name or id), `customer`, `revoked` and `after` (the id before the first row).
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let query = &request.query;
    let (wanted, customer, after) = (query.text("q"), query.text("customer"), query.text("after"));
    let revoked = query.is_on("revoked");
    let of = (!customer.is_empty()).then(|| CustomerId::from(customer));
    let is_filtered = !wanted.is_empty() || !customer.is_empty();
    let (rows, next) = rows(pages, request, of, revoked).await?;
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/keys", "Keys");
    Ok(shell.page(StatusCode::OK, &html! {
        div.title {
            h1 { "Keys" }
            @if request.is_operator() { a.button.primary href="/keys/new" data-new { "New key" } }
        }
        form.toolbar method="get" role="search" {
            label for="q" { "Search" }
            input #q type="search" name="q" value=(wanted) placeholder="Name or id" data-search;
            label for="customer" { "Customer" }
            input #customer type="search" name="customer" value=(customer) autocomplete="off";
            label.check { input type="checkbox" name="revoked" value="1" checked[revoked]; " Revoked ones too" }
            button { "Show" }
        }
        @if rows.is_empty() && next.is_none() && !is_filtered {
            (empty(
                "A key lets a client use models, and names the customer that pays. There are none yet.",
                request.is_operator().then_some(("/keys/new", "New key")),
                "gatehouse key create NAME --account CUSTOMER --unlimited",
            ))
        } @else if rows.is_empty() {
            p.empty { "No key fits" @if next.is_some() { " among those looked at so far" } ". " a href="/keys" { "Show all keys" } }
        } @else {
            (table(&rows, request.query.text("marked"), request.now))
        }
        p.pager {
            @if !after.is_empty() { a.button href=(address(wanted, customer, revoked, "")) { "First" } " " }
            @if let Some(next) = &next { a.button href=(address(wanted, customer, revoked, &next.0)) { "Next" } }
        }
    }))
}

/// One page of keys by id, and where the next one begins. The first page begins with the key that an address marks and with
/// those whose id begins with what is searched for.
async fn rows(
    pages: &PageContext,
    request: &PageRequest,
    customer: Option<CustomerId>,
    revoked: bool,
) -> Result<(Vec<KeyView>, Option<KeyId>), PageError> {
    let query = &request.query;
    let (wanted, after) = (query.text("q"), query.text("after"));
    let states = if revoked { vec![] } else { vec![KeyState::Active, KeyState::Expired] };
    let all = KeyQuery { customer, name: None, states, at: request.now };
    let fits = |key: &Key| {
        all.customer.as_ref().is_none_or(|customer| key.customer == *customer)
            && (revoked || key.revoked.is_none())
    };
    let mut first = Vec::new();
    if after.is_empty() {
        let marked = pages.service.key(&KeyId::from(query.text("marked")))?;
        first.extend(marked.filter(|key| wanted.is_empty() && fits(key)));
        if !wanted.is_empty() {
            let begin = KeyId::from(wanted.trim_start_matches("sk-"));
            first.extend(pages.service.key(&begin)?.filter(fits));
            let more = pages.service.keys_page(all.clone(), Some(begin.clone()), ROWS).await?.rows;
            first.extend(more.into_iter().take_while(|key| key.id.0.starts_with(&begin.0)));
        }
    }
    let named = KeyQuery { name: (!wanted.is_empty()).then(|| wanted.to_owned()), ..all };
    let page = pages.service.keys_page(named, (!after.is_empty()).then(|| KeyId::from(after)), ROWS).await?;
    let rest: Vec<Key> =
        page.rows.into_iter().filter(|key| first.iter().all(|one| one.id != key.id)).collect();
    Ok((first.into_iter().chain(rest).map(KeyView::from).collect(), page.next))
}

/// Rows of keys, `marked` among them.
pub(crate) fn table(keys: &[KeyView], marked: &str, now: UnixMs) -> Markup {
    html! {
        div.scroll role="region" aria-label="Keys" tabindex="0" {
            table.cards data-rows {
                caption { "Keys" }
                thead { tr {
                    @for name in ["Name", "Key", "Quota, credits", "Models", "Expires", "State"] { th scope="col" { (name) } }
                } }
                tbody { @for key in keys { (row(key, marked, now)) } }
            }
        }
    }
}

fn row(key: &KeyView, marked: &str, now: UnixMs) -> Markup {
    let models = match key.models.as_slice() {
        [] => "all".to_owned(),
        [one] => one.clone(),
        more => format!("{} models", more.len()),
    };
    html! {
        tr .marked[key.id.0 == marked] {
            td.wide {
                a.row href={ "/keys/" (key.id) } { bdi { (key.name) } }
                br; a.muted href=(customers::address(&key.customer)) { bdi { (key.customer) } }
            }
            td { code { "sk-" (key.id) "…" } }
            td { (quota(key.used, key.quota_use(now))) }
            td.less title=(key.models.join(", ")) { (models) }
            td.less { @if let Some(expires) = key.expires { (moment(expires, now)) } @else { span.muted { "never" } } }
            td { (state(key, now)) }
        }
    }
}

fn address(wanted: &str, customer: &str, revoked: bool, after: &str) -> String {
    let mut fields = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in [("q", wanted), ("customer", customer), ("after", after)] {
        if !value.is_empty() {
            fields.append_pair(name, value);
        }
    }
    if revoked {
        fields.append_pair("revoked", "1");
    }
    format!("/keys?{}", fields.finish())
}
