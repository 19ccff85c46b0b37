//! The list of customers.

use gatehouse_admin::{Operation, OperationResult, ResponseBody};
use gatehouse_model::Customer;
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
    let result = pages.service.perform(Operation::CustomerList).await?;
    let OperationResult::Customers { customers } = result else { return Err(PageError::unexpected()) };
    let mut fitting = customers.into_iter().filter(|customer| {
        customer.id.0.starts_with(wanted) && (after.is_empty() || customer.id.0.as_str() > after)
    });
    let rows: Vec<Customer> = fitting.by_ref().take(ROWS).collect();
    let more = fitting.next().is_some();
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
