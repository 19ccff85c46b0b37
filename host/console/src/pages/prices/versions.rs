//! Versions of the price book: who changed prices when, and what differs between two versions.

use gatehouse_admin::{PriceChanges, PriceVersionView, ResponseBody};
use gatehouse_model::{Credits, UnixMs};
use http::{Response, StatusCode};
use maud::{Markup, html};

use crate::context::PageContext;
use crate::error::PageError;
use crate::format::{count, credits, moment};
use crate::parts::shell::Shell;
use crate::request::PageRequest;

/// Versions on one page.
const ROWS: usize = 50;

/// `GET /price-books`, with `before` for older versions.
pub(crate) async fn list(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let before = number(request, "before")?;
    let page = pages.service.price_books_page(before, ROWS).await?;
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/prices", "Price book versions");
    Ok(shell.page(
        StatusCode::OK,
        &html! {
            p.crumbs { a href="/prices" { "Prices" } }
            h1 { "Versions of the price book" }
            p.muted { "Every change of the prices in effect. The last 500 versions are kept." }
            @if page.rows.is_empty() { p.muted { "No version is kept." } }
            @else { (table(&page.rows, request.now)) }
            @if let Some(next) = page.next { p { a href={ "/price-books?before=" (next) } { "Older" } } }
        },
    ))
}

/// `GET /price-books/<number>`, with `against` for another version than the one before.
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let wanted = request.id.parse();
    let wanted: u64 = wanted.map_err(|_| PageError::not_found(format!("no version {}", request.id)))?;
    let details = pages.service.price_book_details(wanted)?;
    let changes = pages.service.price_changes(wanted, number(request, "against")?).await?;
    let book = &details.book;
    let title = format!("Price book {wanted}");
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/prices", &title);
    Ok(shell.page(
        StatusCode::OK,
        &html! {
            p.crumbs { a href="/prices" { "Prices" } " " a href="/price-books" { "Versions" } }
            h1 { "Version " (wanted) " of the price book" }
            dl.facts {
                dt { "Since" } dd { (moment(book.at.0, request.now)) }
                dt { "Cause" } dd { (book.cause) ", by " (book.who) }
                dt { "Digest" } dd { code { (book.version.get(..12).unwrap_or(&book.version)) } }
            }
            (compare(&changes))
            h2 { "Prices" }
            @if details.left_out > 0 { p.muted { (count(details.left_out)) " more were too many to be kept." } }
            div.scroll role="region" aria-label="Prices" tabindex="0" {
                table {
                    caption { "Prices of version " (wanted) }
                    thead { tr { th scope="col" { "Price key" } th scope="col" { "Of" } th.right scope="col" { "Credits" } } }
                    tbody { @for price in &details.prices { tr {
                        td.wide { code { (price.key) } }
                        td { (price.part.as_str()) }
                        td.right { (credits(Credits(price.price_micro))) }
                    } } }
                }
            }
        },
    ))
}

/// Versions, newest first.
pub(super) fn table(rows: &[PriceVersionView], now: UnixMs) -> Markup {
    html! {
        div.scroll role="region" aria-label="Versions" tabindex="0" {
            table.cards {
                caption { "Versions of the price book" }
                thead { tr {
                    th scope="col" { "Version" } th scope="col" { "Since" } th.right scope="col" { "Changed" }
                    th scope="col" { "Cause" } th scope="col" { "By" }
                } }
                tbody { @for book in rows { tr {
                    td { a href={ "/price-books/" (book.number) } { "Version " (book.number) } }
                    td data-label="Since" { (moment(book.at.0, now)) }
                    td.right data-label="Changed" { (count(book.changed)) " of " (count(book.prices)) }
                    td.wide data-label="Cause" { (book.cause) }
                    td data-label="By" { (book.who) }
                } } }
            }
        }
    }
}

/// What differs, with a form to compare with another version.
fn compare(changes: &PriceChanges) -> Markup {
    let price = |micro: Option<i64>| html! { @if let Some(micro) = micro { (credits(Credits(micro))) } @else { span.muted { "none" } } };
    let against = changes.against.map(|number| number.to_string()).unwrap_or_default();
    html! {
        h2 #changes { "Changes" }
        form.toolbar method="get" action={ "/price-books/" (changes.number) } aria-labelledby="changes" {
            label for="f-against" { "Against version" }
            input #f-against name="against" value=(against) inputmode="numeric" required;
            button { "Compare" }
        }
        @if changes.incomplete { p.muted { "Prices that are not kept may differ, too." } }
        @if changes.changes.is_empty() {
            p.muted { "No price differs." }
        } @else {
            div.scroll role="region" aria-label="Changes" tabindex="0" {
                table.cards {
                    caption { @match changes.against { Some(other) => { "Against version " (other) } None => { "All prices are new" } } }
                    thead { tr { th scope="col" { "Price key" } th scope="col" { "Of" } th.right scope="col" { "Before" } th.right scope="col" { "After" } } }
                    tbody { @for change in &changes.changes { tr {
                        td.wide { code { (change.key) } }
                        td data-label="Of" { (change.part.as_str()) }
                        td.right data-label="Before" { (price(change.before_micro)) }
                        td.right data-label="After" { (price(change.after_micro)) }
                    } } }
                }
            }
        }
    }
}

/// A number in the address; none where it is not there.
fn number(request: &PageRequest, name: &str) -> Result<Option<u64>, PageError> {
    let text = request.query.text(name);
    let wrong = |_| {
        let message = format!("{name}: expected the number of a version, got {text:?}");
        PageError::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    };
    (!text.is_empty()).then(|| text.parse()).transpose().map_err(wrong)
}
