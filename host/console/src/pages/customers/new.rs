//! A new customer.

use gatehouse_admin::{OperationError, ResponseBody};
use gatehouse_model::CustomerId;
use http::{Response, StatusCode};
use maud::html;

use super::address;
use crate::context::PageContext;
use crate::error::PageError;
use crate::parts::fields::{Field, Problems};
use crate::parts::shell::{Shell, redirect};
use crate::request::PageRequest;

/// `GET /customers/new`.
pub(crate) fn show(pages: &PageContext, request: &PageRequest) -> Response<ResponseBody> {
    page(pages, request, StatusCode::OK, "", &Problems::default())
}

/// `POST /customers`.
pub(crate) async fn create(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let form = request.form();
    let id = form.text("customer");
    let mut problems = Problems::default();
    match pages.service.open_customer(CustomerId::from(id)).await {
        Ok(customer) => {
            return Ok(redirect(&format!("{}?done=created", address(&customer.id))));
        }
        Err(OperationError::Invalid(message) | OperationError::Refused(message)) => {
            problems.add("customer", message);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(page(pages, request, StatusCode::UNPROCESSABLE_ENTITY, id, &problems))
}

fn page(
    pages: &PageContext,
    request: &PageRequest,
    status: StatusCode,
    value: &str,
    problems: &Problems,
) -> Response<ResponseBody> {
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/customers", "New customer");
    shell.page(status, &html! {
        p.crumbs { a href="/customers" { "Customers" } }
        h1 { "New customer" }
        form.stack method="post" action="/customers" novalidate {
            (problems.summary())
            (Field {
                name: "customer", label: "Id", help: "1 to 64 letters, digits and - _ . @. It cannot be changed later.",
                value, required: true, decimal: false,
            }.show(problems))
            div.buttons { button.primary { "Create customer" } a.button href="/customers" { "Cancel" } }
        }
    })
}
