//! A version of the price book: its prices, and what differs from another.

use gatehouse_admin::{ApiRequest, ResponseBody};
use http::{Response, StatusCode};
use maud::{Markup, html};
use serde_json::Value;

use crate::context::PageContext;
use crate::error::PageError;
use crate::kinds::prices::{CHANGES, PRICES};
use crate::parts::shell::Shell;
use crate::request::PageRequest;
use crate::resource::column::{Look, when};
use crate::resource::{members, plain, text};

/// `GET /price-books/<number>`, with `against` for another version than the one before.
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
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
