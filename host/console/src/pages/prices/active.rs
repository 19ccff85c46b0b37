//! Prices: the book in effect by family, what lacks a price, and what one request would cost.

use gatehouse_admin::{
    ApiRequest, FamilyPrices, OperationError, PricePreview, PricesView, ResponseBody, TokenPrice, UnitPrice,
};
use gatehouse_model::{Credits, CustomerId};
use http::{Response, StatusCode};
use maud::{Markup, html};

use crate::context::PageContext;
use crate::error::PageError;
use crate::format::{count, credits};
use crate::kinds::prices::BOOKS;
use crate::parts::elements::{Tone, chip, empty};
use crate::parts::fields::{Field, Problems, lines};
use crate::parts::shell::Shell;
use crate::request::PageRequest;
use crate::resource::column::Look;
use crate::resource::list;

/// The newest versions that the page lists.
const VERSIONS: usize = 5;
/// A request to begin with.
const SAMPLE_PATH: &str = "/v1/images/generations";
const SAMPLE_BODY: &str = "{\n  \"model\": \"ctx-pro\",\n  \"prompt\": \"a lighthouse at dawn\"\n}";

/// The preview form as it was sent.
struct Asked<'f> {
    path: &'f str,
    body: &'f str,
    customer: &'f str,
    book: &'f str,
}

/// `GET /prices`.
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let asked = Asked { path: SAMPLE_PATH, body: SAMPLE_BODY, customer: "", book: "" };
    page(pages, request, StatusCode::OK, &asked, &Problems::default(), None).await
}

/// `POST /prices`: what a request would cost.
pub(crate) async fn preview(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let form = request.form();
    let asked = Asked {
        path: form.text("path"),
        body: form.text("body"),
        customer: form.text("customer"),
        book: form.text("book"),
    };
    let mut problems = Problems::default();
    match ask(pages, &asked).await {
        Ok(found) => return page(pages, request, StatusCode::OK, &asked, &problems, Some(&found)).await,
        Err(OperationError::InvalidField { field, message }) if field == "path" => {
            problems.add("path", message);
        }
        Err(OperationError::InvalidField { field, message }) if field == "book" => {
            problems.add("book", message);
        }
        Err(OperationError::NotFound(message) | OperationError::Refused(message))
            if !asked.book.is_empty() =>
        {
            problems.add("book", message);
        }
        // Every other field is one of the body.
        Err(OperationError::InvalidField { message, .. } | OperationError::Invalid(message)) => {
            problems.add("body", message);
        }
        Err(error) => return Err(error.into()),
    }
    page(pages, request, StatusCode::UNPROCESSABLE_ENTITY, &asked, &problems, None).await
}

async fn ask(pages: &PageContext, asked: &Asked<'_>) -> Result<PricePreview, OperationError> {
    let body = serde_json::from_str(asked.body)
        .map_err(|error| OperationError::Invalid(format!("expected JSON: {error}")))?;
    let customer = (!asked.customer.is_empty()).then(|| CustomerId::from(asked.customer));
    let book = (!asked.book.is_empty()).then(|| asked.book.parse()).transpose().map_err(|_| {
        let message = format!("expected the number of a version, got {:?}", asked.book);
        OperationError::InvalidField { field: "book".to_owned(), message }
    })?;
    pages.service.preview_price(asked.path.to_owned(), &body, customer, book).await
}

async fn page(
    pages: &PageContext,
    request: &PageRequest,
    status: StatusCode,
    asked: &Asked<'_>,
    problems: &Problems,
    found: Option<&PricePreview>,
) -> Result<Response<ResponseBody>, PageError> {
    let book = match pages.service.prices() {
        Ok(book) => Some(book),
        // There is no gateway beside these pages, so there is nothing to show.
        Err(OperationError::Refused(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let versions = ApiRequest::get(BOOKS.api).query("limit", VERSIONS);
    let versions = list::page(pages, request, versions).await?.rows;
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/prices", "Prices");
    Ok(shell.page(
        status,
        &html! {
            h1 { "Prices" }
            @match &book {
                None => (empty("Only a running gateway knows its prices.", None, "gatehouse prices show")),
                Some(book) => {
                    p.muted { "In effect for everything that begins now, from the configuration and the families' defaults. A task keeps the price of its submission. Version " code { (book.version.get(..12).unwrap_or(&book.version)) } "." }
                    (lacking(book))
                    @if request.is_operator() { (form(asked, problems, found)) }
                    @for family in &book.families { (of_family(family, &book.tokens)) }
                    (unused(book))
                    h2 { "Versions" }
                    (BOOKS.table(&versions, BOOKS.names.0, &Look::of(request)))
                    p { a href="/price-books" { "All versions" } }
                }
            }
        },
    ))
}

/// What cannot be charged for, above everything else.
fn lacking(book: &PricesView) -> Markup {
    html! {
        @if book.families.iter().any(|family| !family.missing.is_empty()) {
            div.problems role="alert" {
                h2 { "Families without a price" }
                ul { @for family in &book.families { @for key in &family.missing {
                    li { (family.family) ": no price for " code { (key) } "; its requests fail. Add it to " code { "[prices]" } " and reload." }
                } } }
            }
        }
    }
}

fn form(asked: &Asked<'_>, problems: &Problems, found: Option<&PricePreview>) -> Markup {
    let path = Field {
        name: "path",
        label: "Endpoint",
        help: "A path such as /v1/chat/completions, or an operation such as images.generate.",
        value: asked.path,
        required: true,
        decimal: false,
    };
    let customer = Field {
        name: "customer",
        label: "Customer",
        help: "Only where the body refers to one of its tasks or names.",
        value: asked.customer,
        required: false,
        decimal: false,
    };
    let book = Field {
        name: "book",
        label: "Version of the price book",
        help: "Its number. Without it, the prices in effect.",
        value: asked.book,
        required: false,
        decimal: true,
    };
    html! {
        h2 #preview { "What a request would cost" }
        (problems.summary_as("This request would be refused"))
        @if let Some(found) = found { (answer(found)) }
        form.stack method="post" action="/prices" aria-labelledby="preview" {
            (path.show(problems))
            (lines("body", "Body", "JSON, as a client would send it.", asked.body, problems))
            (customer.show(problems))
            (book.show(problems))
            div.buttons { button.primary { "Show the price" } }
        }
    }
}

fn answer(found: &PricePreview) -> Markup {
    html! {
        section.report role="status" aria-label="Price" {
            p { strong { @if found.at_most { "At most " } (credits(Credits(found.sum_micro))) " credits" } " for " code { (found.model) } }
            @if let Some(failure) = &found.failure { p { (chip(Tone::Warn, "would fail")) " " (failure) } }
            div.scroll role="region" aria-label="Charges" tabindex="0" {
                table.cards {
                    caption { "Charges" }
                    thead { tr { th scope="col" { "Price key" } th.right scope="col" { "Quantity" } th.right scope="col" { "Price" } th.right scope="col" { "Sum" } th scope="col" { "Keys tried" } } }
                    tbody { @for charge in &found.charges { tr {
                        td { code { (charge.price_key) } }
                        td.right data-label="Quantity" { (count(charge.quantity)) " " (charge.unit_name()) }
                        td.right data-label="Price" { (credits(Credits(charge.unit_price_micro))) @if !charge.is_of_tokens() && charge.per > 1 { " per " (count(u64::from(charge.per))) } }
                        td.right data-label="Sum" { (credits(Credits(charge.sum_micro))) }
                        td.wide data-label="Keys tried" { (charge.price_keys.join(", ")) }
                    } } }
                }
            }
        }
    }
}

fn of_family(family: &FamilyPrices, tokens: &[TokenPrice]) -> Markup {
    let name = &family.family;
    let own: Vec<&TokenPrice> = tokens.iter().filter(|row| family.models.contains(&row.model)).collect();
    html! {
        section.card aria-labelledby={ "family-" (name) } {
            div.title {
                h2 id={ "family-" (name) } { (name) }
                span.muted { (family.version) }
                @if !family.missing.is_empty() { (chip(Tone::Error, "no price")) }
            }
            @if !family.units.is_empty() || !family.missing.is_empty() { (units(name, family)) }
            @if !own.is_empty() { (models(name, &own)) }
            @if family.units.is_empty() && family.missing.is_empty() && own.is_empty() { p.muted { "It charges for nothing." } }
        }
    }
}

fn units(name: &str, family: &FamilyPrices) -> Markup {
    html! {
        div.scroll role="region" aria-label={ "Prices of " (name) } tabindex="0" {
            table {
                caption { "Prices of " (name) }
                thead { tr { th scope="col" { "Price key" } th.right scope="col" { "Credits" } } }
                tbody {
                    @for UnitPrice { key, price_micro, per } in &family.units {
                        tr { td.wide { code { (key) } } td.right { (credits(Credits(*price_micro))) @if *per > 1 { " per " (count(u64::from(*per))) } } }
                    }
                    @for key in &family.missing { tr { td.wide { code { (key) } } td.right { (chip(Tone::Error, "no price")) } } }
                }
            }
        }
    }
}

fn models(name: &str, rows: &[&TokenPrice]) -> Markup {
    html! {
        div.scroll role="region" aria-label={ "Text models of " (name) } tabindex="0" {
            table.cards {
                caption { "Text models of " (name) ", credits for a million tokens" }
                thead { tr { th scope="col" { "Model" } th scope="col" { "Provider" } th.right scope="col" { "Input" } th.right scope="col" { "Output" } th.right scope="col" { "Cached" } th.right scope="col" { "Cache write" } th.right scope="col" { "For an hour" } } }
                tbody { @for row in rows { tr {
                    td.wide { code { (row.model) } @for alias in &row.aliases { " " span.muted { (alias) } } }
                    td.less { (row.provider) }
                    td.right data-label="Input" { (credits(Credits(row.input_micro))) }
                    td.right data-label="Output" { @if let Some(output) = row.output_micro { (credits(Credits(output))) } @else { span.muted { "none" } } }
                    td.right.less { (credits(Credits(row.cached_micro))) }
                    td.right.less { (credits(Credits(row.cache_write_micro))) }
                    td.right.less { (credits(Credits(row.cache_write_1h_micro))) }
                } } }
            }
        }
    }
}

/// Prices that nothing charges by: a family that is gone, or a slip of the pen.
fn unused(book: &PricesView) -> Markup {
    html! {
        @if !book.unused.is_empty() {
            h2 { "Unused" }
            p.muted { "No loaded family charges by these keys." }
            ul.plain { @for key in &book.unused { li { code { (key) } } } }
        }
    }
}
