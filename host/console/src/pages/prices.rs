//! Prices: the book in effect by family, what lacks a price, what one request would cost, and a version of the book: its prices, and what
//! differs from another.

use gatehouse_admin::{ApiRefusal, ApiRequest};
use gatehouse_model::Credits;
use http::StatusCode;
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::error::Outcome;
use crate::form::Form;
use crate::format::{credits, plain};
use crate::kinds::prices::{BOOKS, CHANGES, CHARGES, PRICES, TOKENS, UNITS};
use crate::parts::elements::{Field, Problems, Tone, chip, empty, lines};
use crate::parts::shell::Shell;
use crate::request::PageRequest;
use crate::resource::column::when;
use crate::resource::{list, members, text};

/// The newest versions that the page lists.
const VERSIONS: usize = 5;
/// A request to begin with.
const SAMPLE_PATH: &str = "/v1/images/generations";
const SAMPLE_BODY: &str = "{\n  \"model\": \"ctx-pro\",\n  \"prompt\": \"a lighthouse at dawn\"\n}";

/// `GET /prices`.
pub(crate) async fn show(request: PageRequest) -> Outcome {
    let mut asked = Form::default();
    asked.push("path", SAMPLE_PATH.to_owned());
    asked.push("body", SAMPLE_BODY.to_owned());
    page(&request, StatusCode::OK, &asked, &Problems::default(), &Value::Null).await
}

/// `POST /prices`: what a request would cost.
pub(crate) async fn preview(request: PageRequest) -> Outcome {
    let (asked, mut problems) = (request.form(), Problems::default());
    match ask(&request, &asked).await {
        Ok(Ok(found)) => return page(&request, StatusCode::OK, &asked, &problems, &found).await,
        Ok(Err(refusal)) => match (refusal.status, text(&refusal.body["error"], "param")) {
            (400, "path" | "operation") => problems.add("path", refusal.message),
            (400, "price_book") => problems.add("book", refusal.message),
            (404 | 409, _) if asked.is_on("book") => problems.add("book", refusal.message),
            // Every other field is one of the body.
            (400, _) => problems.add("body", refusal.message),
            _ => return Err(refusal.into()),
        },
        Err((field, message)) => problems.add(field, message),
    }
    page(&request, StatusCode::UNPROCESSABLE_ENTITY, &asked, &problems, &Value::Null).await
}

/// The API's answer, or the field that cannot be read.
async fn ask(
    request: &PageRequest,
    asked: &Form,
) -> Result<Result<Value, ApiRefusal>, (&'static str, String)> {
    let body: Value = serde_json::from_str(asked.text("body"))
        .map_err(|error| ("body", format!("expected JSON: {error}")))?;
    let given = |name: &str| Some(asked.text(name)).filter(|text| !text.is_empty());
    let wrong = |book: &str| ("book", format!("expected the number of a version, got {book:?}"));
    let book = given("book").map(|book| book.parse::<u64>().map_err(|_| wrong(book))).transpose()?;
    let path = asked.text("path");
    let target = if path.starts_with('/') { "path" } else { "operation" };
    let wanted = json!({target: path, "body": body, "customer": given("customer"), "price_book": book});
    let preview = ApiRequest::post(&["price-books", "preview"]).json(&wanted);
    Ok(request.ask(preview).await.map(|answer| answer.body))
}

async fn page(
    request: &PageRequest,
    status: StatusCode,
    asked: &Form,
    problems: &Problems,
    found: &Value,
) -> Outcome {
    let book = match request.ask(ApiRequest::get(&["price-books", "active"])).await {
        Ok(book) => Some(book.body),
        // There is no gateway beside these pages, so there is nothing to show.
        Err(refusal) if refusal.status == 409 => None,
        Err(refusal) => return Err(refusal.into()),
    };
    let versions = ApiRequest::get(BOOKS.api).query("limit", VERSIONS);
    let versions = list::page(request, versions).await?.rows;
    let shell = Shell::new(request, "/prices", "Prices");
    Ok(shell.page(
        status,
        &html! {
            h1 { "Prices" }
            @match &book {
                None => (empty("Only a running gateway knows its prices.", None, "gatehouse prices show")),
                Some(book) => {
                    p.muted { "In effect for everything that begins now, from the configuration and the families' defaults. A task keeps the price of its submission. Version " code { (text(book, "version").get(..12).unwrap_or_default()) } "." }
                    (lacking(book))
                    @if request.is_operator() { (form(asked, problems, found, request)) }
                    @for family in members(book, "families") { (of_family(family, members(book, "tokens"), request)) }
                    @for variant in members(book, "variants") { (of_variant(variant, request)) }
                    (unused(book))
                    h2 { "Versions" }
                    (BOOKS.table(&versions, BOOKS.names.0, request))
                    p { a href="/price-books" { "All versions" } }
                }
            }
        },
    ))
}

/// What costs something else for some customers.
fn of_variant(variant: &Value, request: &PageRequest) -> Markup {
    let name = text(variant, "name");
    let (units, tokens) = (members(variant, "units"), members(variant, "tokens"));
    html! {
        h2 { "Variant " code { (name) } }
        p.muted { "For customers that point to it. Everything else costs what it costs in the book itself." }
        @if !units.is_empty() { (list::table(UNITS, units, &format!("Prices of units in variant {name}"), request)) }
        @if !tokens.is_empty() { (list::table(TOKENS, tokens, &format!("Prices of tokens in variant {name}"), request)) }
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

fn form(asked: &Form, problems: &Problems, found: &Value, request: &PageRequest) -> Markup {
    let field = |name: &str, label, help, required, decimal| {
        Field { name, label, help, value: asked.text(name), required, decimal }.show(problems)
    };
    html! {
        h2 #preview { "What a request would cost" }
        (problems.summary_as("This request would be refused"))
        @if !found.is_null() { (answer(found, request)) }
        form.stack method="post" action="/prices" aria-labelledby="preview" {
            (field("path", "Endpoint", "A path such as /v1/chat/completions, or an operation such as images.generate.", true, false))
            (lines("body", "Body", "JSON, as a client would send it.", asked.text("body"), problems))
            (field("customer", "Customer", "Whose prices, tasks and names. Without it, those of nobody in particular.", false, false))
            (field("book", "Version of the price book", "Its number. Without it, the prices in effect.", false, true))
            div.buttons { button.primary { "Show the price" } }
        }
    }
}

fn answer(found: &Value, request: &PageRequest) -> Markup {
    html! {
        section.report role="status" aria-label="Price" {
            p { strong { @if found["at_most"] == true { "At most " } (credits(Credits(found["sum_micro"].as_i64().unwrap_or_default()))) " credits" } " for " code { (text(found, "model")) } }
            @if let Some(failure) = found["failure"].as_str() { p { (chip(Tone::Warn, "would fail")) " " (failure) } }
            (list::table(CHARGES, members(found, "charges"), "Charges", request))
        }
    }
}

fn of_family(family: &Value, tokens: &[Value], request: &PageRequest) -> Markup {
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
            @if !units.is_empty() { (list::table(UNITS, &units, &format!("Prices of {name}"), request)) }
            @if !own.is_empty() {
                (list::table(TOKENS, &own, &format!("Text models of {name}, credits for a million tokens"), request))
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
pub(crate) async fn version(request: PageRequest) -> Outcome {
    let number = request.id.as_str();
    let details = request.read(&["price-books", number]).await?;
    let against = Some(request.query.text("against")).filter(|against| !against.is_empty());
    let changes = ApiRequest::get(&["price-books", number, "changes"]).query_if("against", against);
    let changes = request.ask(changes).await?.body;
    let (book, title) = (&details["book"], format!("Price book {number}"));
    let shell = Shell::new(&request, "/prices", &title);
    let version = text(book, "version");
    Ok(shell.show(&html! {
        p.crumbs { a href="/prices" { "Prices" } " " a href="/price-books" { "Versions" } }
        h1 { "Version " (number) " of the price book" }
        dl.facts {
            dt { "Since" } dd { (when(&book["at"], &request)) }
            dt { "Cause" } dd { (text(book, "cause")) ", by " (text(book, "who")) }
            dt { "Digest" } dd { code { (version.get(..12).unwrap_or(version)) } }
        }
        (compare(&changes, &request))
        h2 { "Prices" }
        @if details["left_out"].as_u64() > Some(0) { p.muted { (details["left_out"]) " more were too many to be kept." } }
        (list::table(PRICES, members(&details, "prices"), &format!("Prices of version {number}"), &request))
    }))
}

/// What differs, with a form to compare with another version.
fn compare(changes: &Value, request: &PageRequest) -> Markup {
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
        @else { (list::table(CHANGES, members(changes, "changes"), &caption, request)) }
    }
}
