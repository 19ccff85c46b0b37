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

/// Which customers to show.
struct Filter<'q> {
    /// The beginning of an id.
    wanted: &'q str,
    /// Only those whose every request is refused.
    without_credit: bool,
    /// The id before the first row.
    after: &'q str,
}

/// `GET /customers`, with `q` (the beginning of an id), `without_credit`, and `after` (the id before the first row).
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let query = &request.query;
    let filter = Filter {
        wanted: query.text("q"),
        without_credit: query.is_on("without_credit"),
        after: query.text("after"),
    };
    let (rows, more) = rows(pages, &filter).await?;
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/customers", "Customers");
    Ok(shell.page(StatusCode::OK, &html! {
        div.title {
            h1 { "Customers" }
            @if request.is_operator() { a.button.primary href="/customers/new" data-new { "New customer" } }
        }
        form.toolbar method="get" role="search" {
            label for="q" { "Search" }
            input #q type="search" name="q" value=(filter.wanted) placeholder="Beginning of an id" data-search;
            label.check { input type="checkbox" name="without_credit" value="true" checked[filter.without_credit]; " Without credit" }
            button { "Show" }
        }
        @if rows.is_empty() && filter.wanted.is_empty() && !filter.without_credit {
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
            p.pager { a.button href=(next_address(&filter, &last.id.0)) { "Next" } }
        }
    }))
}

/// One page of the customers whose ids begin with `wanted`, and whether more follow. They stand together: after the text
/// itself, which is an id too.
async fn rows(pages: &PageContext, filter: &Filter<'_>) -> Result<(Vec<Customer>, bool), PageError> {
    let Filter { wanted, without_credit, after } = *filter;
    let begin = if after.is_empty() { wanted } else { after };
    let mut rows = Vec::new();
    if after.is_empty() && !wanted.is_empty() {
        let exact = pages.service.customer(&CustomerId::from(wanted))?;
        rows.extend(exact.filter(|customer| !(without_credit && customer.has_credit())));
    }
    let from = (!begin.is_empty()).then(|| CustomerId::from(begin));
    let page = match without_credit {
        true => pages.service.customers_without_credit(from, ROWS + 1).await?,
        false => pages.service.customers_page(from, ROWS + 1).await?,
    };
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

fn next_address(filter: &Filter<'_>, after: &str) -> String {
    let mut fields = url::form_urlencoded::Serializer::new(String::new());
    fields.append_pair("q", filter.wanted).append_pair("after", after);
    if filter.without_credit {
        fields.append_pair("without_credit", "true");
    }
    format!("/customers?{}", fields.finish())
}
