//! The list of keys.

use gatehouse_admin::{KeyView, Operation, OperationResult, ResponseBody};
use gatehouse_model::{CustomerId, UnixMs};
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

/// Rows on one page.
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
    let mut keys = all(pages, of, revoked).await?;
    let is_filtered = !wanted.is_empty() || !customer.is_empty();
    let lower = wanted.to_lowercase();
    keys.retain(|key| {
        key.name.to_lowercase().contains(&lower) || key.id.0.starts_with(wanted.trim_start_matches("sk-"))
    });
    // The newest first.
    keys.reverse();
    let from = keys.iter().position(|key| key.id.0 == after).map_or(0, |at| at + 1);
    let older = keys.len() > from + ROWS;
    let rows: Vec<KeyView> = keys.into_iter().skip(from).take(ROWS).collect();
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
        @if rows.is_empty() && !is_filtered {
            (empty(
                "A key lets a client use models, and names the customer that pays. There are none yet.",
                request.is_operator().then_some(("/keys/new", "New key")),
                "gatehouse key create NAME --account CUSTOMER --unlimited",
            ))
        } @else if rows.is_empty() {
            p.empty { "No key fits. " a href="/keys" { "Show all keys" } }
        } @else {
            (table(&rows, request.query.text("marked"), request.now))
        }
        @if let Some(last) = rows.last().filter(|_| older) {
            p.pager { a.button href=(older_address(wanted, customer, revoked, &last.id.0)) { "Older" } }
        }
    }))
}

/// Every key, oldest first.
async fn all(
    pages: &PageContext,
    customer: Option<CustomerId>,
    revoked: bool,
) -> Result<Vec<KeyView>, PageError> {
    match pages.service.perform(Operation::KeyList { customer, revoked }).await? {
        OperationResult::Keys { keys } => Ok(keys),
        _ => Err(PageError::unexpected()),
    }
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
            td { (quota(key.used, key.quota)) }
            td.less title=(key.models.join(", ")) { (models) }
            td.less { @if let Some(expires) = key.expires { (moment(expires, now)) } @else { span.muted { "never" } } }
            td { (state(key, now)) }
        }
    }
}

fn older_address(wanted: &str, customer: &str, revoked: bool, after: &str) -> String {
    let mut fields = url::form_urlencoded::Serializer::new(String::new());
    fields.append_pair("q", wanted).append_pair("customer", customer).append_pair("after", after);
    if revoked {
        fields.append_pair("revoked", "1");
    }
    format!("/keys?{}", fields.finish())
}
