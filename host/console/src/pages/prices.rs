//! Prices: the book in effect by family, what lacks a price, what one request would cost, and a version of the book: its prices, and what
//! differs from another.

use gatehouse_admin::{ApiRefusal, ApiRequest};
use gatehouse_model::Credits;
use http::StatusCode;
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::error::Outcome;
use crate::format::credits;
use crate::kinds::prices::{BOOKS, CHANGES, CHARGES, PRICES, TOKENS, UNITS};
use crate::parts::elements::{Field, Problems, Tone, chip, empty, lines};
use crate::parts::shell::Shell;
use crate::request::{PageContext, PageRequest};
use crate::resource::column::{Look, when};
use crate::resource::{list, members, plain, text};

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
pub(crate) async fn show(pages: &PageContext, request: &PageRequest) -> Outcome {
    let asked = Asked { path: SAMPLE_PATH, body: SAMPLE_BODY, customer: "", book: "" };
    page(pages, request, StatusCode::OK, &asked, &Problems::default(), &Value::Null).await
}

/// `POST /prices`: what a request would cost.
pub(crate) async fn preview(pages: &PageContext, request: &PageRequest) -> Outcome {
    let form = request.form();
    let asked = Asked {
        path: form.text("path"),
        body: form.text("body"),
        customer: form.text("customer"),
        book: form.text("book"),
    };
    let mut problems = Problems::default();
    match ask(pages, request, &asked).await {
        Ok(Ok(found)) => return page(pages, request, StatusCode::OK, &asked, &problems, &found).await,
        Ok(Err(refusal)) => match (refusal.status, text(&refusal.body["error"], "param")) {
            (400, "path" | "operation") => problems.add("path", refusal.message),
            (400, "price_book") => problems.add("book", refusal.message),
            (404 | 409, _) if !asked.book.is_empty() => problems.add("book", refusal.message),
            // Every other field is one of the body.
            (400, _) => problems.add("body", refusal.message),
            _ => return Err(refusal.into()),
        },
        Err((field, message)) => problems.add(field, message),
    }
    page(pages, request, StatusCode::UNPROCESSABLE_ENTITY, &asked, &problems, &Value::Null).await
}

/// The API's answer, or the field that cannot be read.
async fn ask(
    pages: &PageContext,
    request: &PageRequest,
    asked: &Asked<'_>,
) -> Result<Result<Value, ApiRefusal>, (&'static str, String)> {
    let body: Value =
        serde_json::from_str(asked.body).map_err(|error| ("body", format!("expected JSON: {error}")))?;
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let wrong = || ("book", format!("expected the number of a version, got {:?}", asked.book));
    let book = given(asked.book).map(|text| text.parse::<u64>().map_err(|_| wrong())).transpose()?;
    let target = if asked.path.starts_with('/') { "path" } else { "operation" };
    let wanted =
        json!({target: asked.path, "body": body, "customer": given(asked.customer), "price_book": book});
    let preview = ApiRequest::post(&["price-books", "preview"]).json(&wanted);
    Ok(pages.ask(request, preview).await.map(|answer| answer.body))
}

async fn page(
    pages: &PageContext,
    request: &PageRequest,
    status: StatusCode,
    asked: &Asked<'_>,
    problems: &Problems,
    found: &Value,
) -> Outcome {
    let book = match pages.ask(request, ApiRequest::get(&["price-books", "active"])).await {
        Ok(book) => Some(book.body),
        // There is no gateway beside these pages, so there is nothing to show.
        Err(refusal) if refusal.status == 409 => None,
        Err(refusal) => return Err(refusal.into()),
    };
    let versions = ApiRequest::get(BOOKS.api).query("limit", VERSIONS);
    let versions = list::page(pages, request, versions).await?.rows;
    let look = Look::of(request);
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/prices", "Prices");
    Ok(shell.page(
        status,
        &html! {
            h1 { "Prices" }
            @match &book {
                None => (empty("Only a running gateway knows its prices.", None, "gatehouse prices show")),
                Some(book) => {
                    p.muted { "In effect for everything that begins now, from the configuration and the families' defaults. A task keeps the price of its submission. Version " code { (text(book, "version").get(..12).unwrap_or_default()) } "." }
                    (lacking(book))
                    @if request.is_operator() { (form(asked, problems, found, &look)) }
                    @for family in members(book, "families") { (of_family(family, members(book, "tokens"), &look)) }
                    @for variant in members(book, "variants") { (of_variant(variant, &look)) }
                    (unused(book))
                    h2 { "Versions" }
                    (BOOKS.table(&versions, BOOKS.names.0, &look))
                    p { a href="/price-books" { "All versions" } }
                }
            }
        },
    ))
}

/// What costs something else for some customers.
fn of_variant(variant: &Value, look: &Look<'_>) -> Markup {
    let name = text(variant, "name");
    let (units, tokens) = (members(variant, "units"), members(variant, "tokens"));
    html! {
        h2 { "Variant " code { (name) } }
        p.muted { "For customers that point to it. Everything else costs what it costs in the book itself." }
        @if !units.is_empty() { (UNITS.table(units, &format!("Prices of units in variant {name}"), look)) }
        @if !tokens.is_empty() { (TOKENS.table(tokens, &format!("Prices of tokens in variant {name}"), look)) }
    }
}

/// What cannot be charged for, above everything else.
fn lacking(book: &Value) -> Markup {
    html! {
        @if members(book, "families").iter().any(|family| !members(family, "missing").is_empty()) {
            div.problems role="alert" {
                h2 { "Families without a price" }
                ul { @for family in members(book, "families") { @for key in members(family, "missing") {
                    li { (text(family, "family")) ": no price for " code { (plain(key)) } "; its requests fail. Add it to " code { "[prices]" } " and reload." }
                } } }
            }
        }
    }
}

fn form(asked: &Asked<'_>, problems: &Problems, found: &Value, look: &Look<'_>) -> Markup {
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
        help: "Whose prices, tasks and names. Without it, those of nobody in particular.",
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
        @if !found.is_null() { (answer(found, look)) }
        form.stack method="post" action="/prices" aria-labelledby="preview" {
            (path.show(problems))
            (lines("body", "Body", "JSON, as a client would send it.", asked.body, problems))
            (customer.show(problems))
            (book.show(problems))
            div.buttons { button.primary { "Show the price" } }
        }
    }
}

fn answer(found: &Value, look: &Look<'_>) -> Markup {
    html! {
        section.report role="status" aria-label="Price" {
            p { strong { @if found["at_most"] == true { "At most " } (credits(Credits(found["sum_micro"].as_i64().unwrap_or_default()))) " credits" } " for " code { (text(found, "model")) } }
            @if let Some(failure) = found["failure"].as_str() { p { (chip(Tone::Warn, "would fail")) " " (failure) } }
            (CHARGES.table(members(found, "charges"), "Charges", look))
        }
    }
}

fn of_family(family: &Value, tokens: &[Value], look: &Look<'_>) -> Markup {
    let (name, models) = (text(family, "family"), members(family, "models"));
    let own: Vec<Value> = tokens.iter().filter(|row| models.contains(&row["model"])).cloned().collect();
    let missing = members(family, "missing").iter().map(|key| json!({"key": key}));
    let units: Vec<Value> = members(family, "units").iter().cloned().chain(missing).collect();
    html! {
        section.card aria-labelledby={ "family-" (name) } {
            div.title {
                h2 id={ "family-" (name) } { (name) }
                span.muted { (text(family, "version")) }
                @if !members(family, "missing").is_empty() { (chip(Tone::Error, "no price")) }
            }
            @if !units.is_empty() { (UNITS.table(&units, &format!("Prices of {name}"), look)) }
            @if !own.is_empty() {
                (TOKENS.table(&own, &format!("Text models of {name}, credits for a million tokens"), look))
            }
            @if units.is_empty() && own.is_empty() { p.muted { "It charges for nothing." } }
        }
    }
}

/// Prices that nothing charges by: a family that is gone, or a slip of the pen.
fn unused(book: &Value) -> Markup {
    html! {
        @if !members(book, "unused").is_empty() {
            h2 { "Unused" }
            p.muted { "No loaded family charges by these keys." }
            ul.plain { @for key in members(book, "unused") { li { code { (plain(key)) } } } }
        }
    }
}

/// `GET /price-books/<number>`, with `against` for another version than the one before.
pub(crate) async fn version(pages: &PageContext, request: &PageRequest) -> Outcome {
    let number = request.id.as_str();
    let details = pages.read(request, &["price-books", number]).await?;
    let against = Some(request.query.text("against")).filter(|against| !against.is_empty());
    let changes = ApiRequest::get(&["price-books", number, "changes"]).query_if("against", against);
    let changes = pages.ask(request, changes).await?.body;
    let (book, look, title) = (&details["book"], Look::of(request), format!("Price book {number}"));
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/prices", &title);
    let version = text(book, "version");
    Ok(shell.page(
        StatusCode::OK,
        &html! {
            p.crumbs { a href="/prices" { "Prices" } " " a href="/price-books" { "Versions" } }
            h1 { "Version " (number) " of the price book" }
            dl.facts {
                dt { "Since" } dd { (when(&book["at"], &look)) }
                dt { "Cause" } dd { (text(book, "cause")) ", by " (text(book, "who")) }
                dt { "Digest" } dd { code { (version.get(..12).unwrap_or(version)) } }
            }
            (compare(&changes, &look))
            h2 { "Prices" }
            @if details["left_out"].as_u64() > Some(0) { p.muted { (details["left_out"]) " more were too many to be kept." } }
            (PRICES.table(members(&details, "prices"), &format!("Prices of version {number}"), &look))
        },
    ))
}

/// What differs, with a form to compare with another version.
fn compare(changes: &Value, look: &Look<'_>) -> Markup {
    let against = changes["against"].as_u64().map(|number| number.to_string());
    let caption = against
        .as_ref()
        .map_or_else(|| "All prices are new".to_owned(), |other| format!("Against version {other}"));
    html! {
        h2 #changes { "Changes" }
        form.toolbar method="get" action={ "/price-books/" (plain(&changes["number"])) } aria-labelledby="changes" {
            label for="f-against" { "Against version" }
            input #f-against name="against" value=(against.as_deref().unwrap_or_default()) inputmode="numeric" required;
            button { "Compare" }
        }
        @if changes["incomplete"] == true { p.muted { "Prices that are not kept may differ, too." } }
        @if members(changes, "changes").is_empty() { p.muted { "No price differs." } }
        @else { (CHANGES.table(members(changes, "changes"), &caption, look)) }
    }
}
