//! `/price-books`: the prices in effect and what a request would cost, the versions of the price book, and what differs between
//! two of them. A version is a digest of all prices: it changes whenever one of them does.

use gatehouse_model::CustomerId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::api::price::{PriceChanges, PricePreview, PriceVersionDetails, PriceVersionView, PricesView};
use crate::api::values::List;
use crate::error::ApiError;
use crate::http::call::{Call, Outcome};
use crate::http::request::precondition::etag_of;
use crate::http::request::query::{Form, Parameter, option};
use crate::http::route::Route;
use crate::reply::Reply;

const AGAINST: Parameter = option("against", Form::Text, "Another version; without it, the one before.");

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/price-books/active", "getActivePrices", show_active)
            .says("Shows the prices in effect.")
            .returns::<PricesView>()
            .tagged(),
        Route::post("/price-books/preview", "previewPrice", preview)
            .says("Says what a request would cost; makes nothing, and needs no key and no money.")
            .body::<PreviewRequest>()
            .returns::<PricePreview>(),
        Route::get("/price-books", "listPriceBooks", list)
            .says("Lists the versions of the price book, newest first; the last 500 are kept.")
            .paged()
            .returns::<List<PriceVersionView>>(),
        Route::get("/price-books/{number}", "getPriceBook", show)
            .says("Shows a version with its prices.")
            .returns::<PriceVersionDetails>(),
        Route::get("/price-books/{number}/changes", "getPriceBookChanges", changes)
            .says("Shows what differs between a version and another.")
            .query(&[AGAINST])
            .returns::<PriceChanges>(),
    ]
}

/// A request as a client would send it. Exactly one of `path` and `operation` says where to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PreviewRequest {
    /// The path of the endpoint, such as `/v1/images/generations`.
    #[serde(default)]
    path: Option<String>,
    /// Its operation, such as `images.generate`.
    #[serde(default)]
    operation: Option<String>,
    /// The body.
    body: Map<String, Value>,
    /// The customer whose prices are asked, and whose tasks and names the body refers to.
    #[serde(default)]
    customer: Option<String>,
    /// The number of a version of the price book to price it by; without it, the prices in effect.
    #[serde(default)]
    price_book: Option<u64>,
}

async fn show_active(call: Call) -> Outcome {
    let prices = call.service.prices.in_effect()?;
    let etag = etag_of(&prices);
    call.object(&prices, &etag)
}

async fn preview(call: Call) -> Outcome {
    let PreviewRequest { path, operation, body, customer, price_book } = call.json()?;
    let target = match (path, operation) {
        (Some(path), None) if path.starts_with('/') => path,
        (Some(path), None) => {
            let message = format!("path: expected a path such as \"/v1/images/generations\", got {path:?}");
            return Err(ApiError::field("path", message));
        }
        (None, Some(operation)) => operation,
        (Some(_), Some(_)) => {
            return Err(ApiError::field("operation", "operation: expected it or `path`, got both"));
        }
        (None, None) => {
            return Err(ApiError::field("path", "path: expected it or `operation`, neither came"));
        }
    };
    let customer = customer.map(CustomerId);
    let found = call.service.prices.preview(target, &Value::Object(body), customer, price_book).await?;
    Ok(Reply::json(&found))
}

async fn list(call: Call) -> Outcome {
    let page = call.service.store.list_price_books(call.position()?, call.query.limit()).await?;
    call.list(page.rows.into_iter().map(PriceVersionView::from).collect(), page.next)
}

async fn show(call: Call) -> Outcome {
    let version = call.service.prices.version(number(&call)?).await?;
    Ok(Reply::json(&PriceVersionDetails::from(version)))
}

async fn changes(call: Call) -> Outcome {
    let against = call.parsed("against", "the number of a version")?;
    let changes = call.service.prices.changes(number(&call)?, against).await?;
    Ok(Reply::json(&changes))
}

fn number(call: &Call) -> Result<u64, ApiError> {
    call.id("number", "version of the price book")
}
