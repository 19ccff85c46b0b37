//! One customer: its balances, its keys, money in and out.

use gatehouse_admin::{KeyQuery, KeyState, KeyView, OperationError, ResponseBody};
use gatehouse_model::{Credits, Customer, CustomerId};
use http::{Response, StatusCode};
use maud::{Markup, html};

use super::super::{keys as key_pages, statements};
use super::{address, state};
use crate::context::PageContext;
use crate::error::PageError;
use crate::form::Form;
use crate::format::{credits, moment};
use crate::once;
use crate::parts::elements::quota;
use crate::parts::fields::{Field, Problems};
use crate::parts::shell::{Shell, redirect};
use crate::request::PageRequest;

/// Keys on the page.
const KEYS: usize = 20;

/// Money in, or out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    In,
    Out,
}

/// `GET /customers/<id>`.
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    page(pages, request, StatusCode::OK, &Form::default(), &Problems::default()).await
}

/// `POST /customers/<id>/deposit`.
pub(crate) async fn deposit(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    book(pages, request, Direction::In).await
}

/// `POST /customers/<id>/withdraw`.
pub(crate) async fn withdraw(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    book(pages, request, Direction::Out).await
}

async fn book(
    pages: &PageContext,
    request: &PageRequest,
    direction: Direction,
) -> Result<Response<ResponseBody>, PageError> {
    let form = request.form();
    let (customer, memo) = (CustomerId::from(request.id.as_str()), form.text("memo").to_owned());
    let field = if direction == Direction::In { "deposit" } else { "withdraw" };
    let mut problems = Problems::default();
    match form.text(field).parse::<Credits>() {
        Err(error) => problems.add(field, error.to_string()),
        Ok(_) if direction == Direction::Out && memo.is_empty() => {
            problems.add("memo", "is missing: say why");
        }
        Ok(amount) => {
            let moved = match direction {
                Direction::In => pages.service.deposit(customer, amount, memo).await,
                Direction::Out => pages.service.withdraw(customer, amount, memo).await,
            };
            match moved {
                Ok(customer) => {
                    let done = if direction == Direction::In { "deposited" } else { "withdrawn" };
                    return Ok(redirect(&format!("{}?done={done}", address(&customer.id))));
                }
                Err(OperationError::Invalid(message) | OperationError::Refused(message)) => {
                    problems.add(field, message.strip_prefix("amount: ").unwrap_or(&message));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    page(pages, request, StatusCode::UNPROCESSABLE_ENTITY, &form, &problems).await
}

async fn page(
    pages: &PageContext,
    request: &PageRequest,
    status: StatusCode,
    form: &Form,
    problems: &Problems,
) -> Result<Response<ResponseBody>, PageError> {
    let id = CustomerId::from(request.id.as_str());
    let customer = pages.service.show_customer(&id)?;
    let states = vec![KeyState::Active, KeyState::Expired];
    let own = KeyQuery { customer: Some(id), name: None, states, at: request.now };
    let page = pages.service.keys_page(own, None, KEYS).await?;
    let keys: Vec<KeyView> = page.rows.into_iter().map(KeyView::from).collect();
    let title = format!("Customer {}", customer.id);
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/customers", &title);
    let query = format!(
        "customer={}",
        url::form_urlencoded::byte_serialize(customer.id.0.as_bytes()).collect::<String>()
    );
    Ok(shell.page(
        status,
        &html! {
            p.crumbs { a href="/customers" { "Customers" } }
            div.title { h1 { bdi { (customer.id) } } (state(&customer)) }
            (balances(&customer, request))
            p { a href=(statements::address("customer", &customer.id.0)) { "Its statement" } " " a href={ "/usage?by=model&" (query) } { "Its usage" } }
            (problems.summary())
            @if request.is_operator() { (money(&customer, request.number, form, problems)) }
            div.title {
                h2 { "Keys" }
                @if request.is_operator() { a.button href={ "/keys/new?" (query) } { "New key" } }
            }
            @if keys.is_empty() && page.next.is_none() { p.empty { "It has no key that works." } }
            @if !keys.is_empty() { (key_pages::list::table(&keys, "", request.now)) }
            @if page.next.is_some() { p { a href={ "/keys?" (query) } { "All its keys" } } }
        },
    ))
}

fn balances(customer: &Customer, request: &PageRequest) -> Markup {
    html! {
        dl.figures {
            div { dt { "Balance" } dd { (credits(customer.available)) } }
            div { dt { "Held" } dd.muted { (credits(customer.reserved)) } }
            div { dt { "Spent" } dd { (credits(customer.spent)) } }
            div { dt { "Paid in" } dd { (credits(customer.deposited)) } }
            @if let Some(limit) = customer.quota_use(request.now) {
                div { dt { "Quota of all keys" } dd { (quota(limit.used, Some(limit))) } }
            }
        }
        p.muted { "Customer since " (moment(customer.created, request.now)) "; amounts in credits." }
    }
}

fn money(customer: &Customer, page: u64, form: &Form, problems: &Problems) -> Markup {
    let field = |name, label, help| Field {
        name,
        label,
        help,
        value: form.text(name),
        required: true,
        decimal: true,
    };
    html! {
        div.halves {
            details.box open[form.is_on("deposit")] {
                summary { "Top up" }
                form.stack method="post" action={ (address(&customer.id)) "/deposit" } novalidate {
                    (once::field(page))
                    (field("deposit", "Amount, credits", "At most six decimals.").show(problems))
                    div.field {
                        label for="deposit-memo" { "Note" }
                        input #deposit-memo type="text" name="memo" maxlength="200" autocomplete="off";
                    }
                    div.buttons { button.primary { "Top up" } }
                }
            }
            details.box open[form.is_on("withdraw")] {
                summary { "Take back" }
                form.stack method="post" action={ (address(&customer.id)) "/withdraw" } novalidate {
                    (once::field(page))
                    (field("withdraw", "Amount, credits", "At most the balance; what is held stays.").show(problems))
                    (Field { name: "memo", label: "Reason", help: "For the ledger.", value: form.text("memo"), required: true, decimal: false }.show(problems))
                    div.buttons { button.primary { "Take back" } }
                }
            }
        }
    }
}
