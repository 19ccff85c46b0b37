//! `/price-books` and `/price-books/{number}`: versions of the price book, and what differs between two of them.

use crate::api::price_version::{PriceChanges, PriceVersionDetails, PriceVersionView};
use crate::http::call::{Call, Outcome};
use crate::http::error::ApiError;
use crate::http::reply::Reply;
use crate::http::request::query::{Form, Parameter, option};
use crate::http::route::Route;
use crate::http::values::List;

const AGAINST: Parameter = option("against", Form::Text, "Another version; without it, the one before.");

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get(
            "/price-books",
            "listPriceBooks",
            "Lists the versions of the price book, newest first; the last 500 are kept.",
            list,
        )
        .paged()
        .returns::<List<PriceVersionView>>(),
        Route::get("/price-books/{number}", "getPriceBook", "Shows a version with its prices.", show)
            .returns::<PriceVersionDetails>(),
        Route::get(
            "/price-books/{number}/changes",
            "getPriceBookChanges",
            "Shows what differs between a version and another.",
            changes,
        )
        .query(&[AGAINST])
        .returns::<PriceChanges>(),
    ]
}

async fn list(call: Call) -> Outcome {
    let before = call.position()?.map(|number| number.parse::<u64>()).transpose();
    let before = before.map_err(|_| ApiError::field("cursor", "cursor: it is not of this list"))?;
    let page = call.service.price_books_page(before, call.query.limit()).await?;
    Ok(call.list(page.rows, page.next.map(|number| number.to_string()).as_deref()))
}

async fn show(call: Call) -> Outcome {
    Ok(Reply::json(&call.service.price_book_details(number(&call)?)?))
}

async fn changes(call: Call) -> Outcome {
    let against = call.query.one("against").map(|text| {
        let expected = || format!("against: expected the number of a version, got {text:?}");
        text.parse::<u64>().map_err(|_| ApiError::field("against", expected()))
    });
    let changes = call.service.price_changes(number(&call)?, against.transpose()?).await?;
    Ok(Reply::json(&changes))
}

fn number(call: &Call) -> Result<u64, ApiError> {
    let text = call.path("number");
    text.parse().map_err(|_| ApiError::not_found(format!("no version {text} of the price book")))
}
