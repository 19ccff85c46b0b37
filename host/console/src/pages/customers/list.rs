//! The list of customers.

use gatehouse_admin::ResponseBody;
use gatehouse_model::{Customer, CustomerId};
use http::{Response, StatusCode};
use maud::{Markup, html};

use super::{address, state};
use crate::context::PageContext;
use crate::error::PageError;
use crate::format::{credits, moment};
use crate::parts::elements::empty;
use crate::parts::shell::Shell;
use crate::request::PageRequest;

/// Rows on one page.
const ROWS: usize = 50;

/// `GET /customers`, with `q` (the beginning of an id) and `after` (the id before the first row).
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let (wanted, after) = (request.query.text("q"), request.query.text("after"));
    let (rows, more) = rows(pages, wanted, after).await?;
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/customers", "Customers");
    Ok(shell.page(StatusCode::OK, &html! {
        div.title {
            h1 { "Customers" }
            @if request.is_operator() { a.button.primary href="/customers/new" data-new { "New customer" } }
        }
        form.toolbar method="get" role="search" {
            label for="q" { "Search" }
            input #q type="search" name="q" value=(wanted) placeholder="Beginning of an id" data-search;
            button { "Show" }
        }
        @if rows.is_empty() && wanted.is_empty() {
            (empty(
                "A customer has a balance, and keys that spend it. There are none yet.",
                request.is_operator().then_some(("/customers/new", "New customer")),
                "gatehouse account open CUSTOMER",
            ))
        } @else if rows.is_empty() {
            p.empty { "No customer fits. " a href="/customers" { "Show all customers" } }
        } @else {
            (table(&rows, request))
        }
        @if let Some(last) = rows.last().filter(|_| more) {
            p.pager { a.button href=(next_address(wanted, &last.id.0)) { "Next" } }
        }
    }))
}

/// One page of the customers whose ids begin with `wanted`, and whether more follow. They stand together: after the text
/// itself, which is an id too.
async fn rows(pages: &PageContext, wanted: &str, after: &str) -> Result<(Vec<Customer>, bool), PageError> {
    let begin = if after.is_empty() { wanted } else { after };
    let mut rows = Vec::new();
    if after.is_empty() && !wanted.is_empty() {
        rows.extend(pages.service.customer(&CustomerId::from(wanted))?);
    }
    let from = (!begin.is_empty()).then(|| CustomerId::from(begin));
    let page = pages.service.customers_page(from, ROWS + 1).await?;
    rows.extend(page.rows.into_iter().take_while(|customer| customer.id.0.starts_with(wanted)));
    let more = rows.len() > ROWS;
    rows.truncate(ROWS);
    Ok((rows, more))
}

fn table(customers: &[Customer], request: &PageRequest) -> Markup {
    let marked = request.query.text("marked");
    html! {
        div.scroll role="region" aria-label="Customers" tabindex="0" {
            table.cards data-rows {
                caption { "Customers" }
                thead { tr {
                    th scope="col" { "Customer" }
                    th.right scope="col" { "Balance" }
                    th.right scope="col" { "Held" }
                    th.right scope="col" { "Spent" }
                    th scope="col" { "Since" }
                    th scope="col" { "State" }
                } }
                tbody {
                    @for customer in customers {
                        tr .marked[customer.id.0 == marked] {
                            td.wide { a.row href=(address(&customer.id)) { bdi { (customer.id) } } }
                            td.right data-label="Balance" { (credits(customer.available)) }
                            td.right.muted.less { (credits(customer.reserved)) }
                            td.right data-label="Spent" { (credits(customer.spent)) }
                            td.less { (moment(customer.created, request.now)) }
                            td { (state(customer)) }
                        }
                    }
                }
            }
        }
    }
}

fn next_address(wanted: &str, after: &str) -> String {
    let mut fields = url::form_urlencoded::Serializer::new(String::new());
    fields.append_pair("q", wanted).append_pair("after", after);
    format!("/customers?{}", fields.finish())
}
