//! `/price-books/active` and `/price-books/preview`: the prices in effect, and what a request would cost. A version is a digest of all prices: it changes
//! whenever one of them does.

use gatehouse_model::CustomerId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::api::price::{PricePreview, PricesView};
use crate::http::call::{Call, Outcome};
use crate::http::error::ApiError;
use crate::http::reply::Reply;
use crate::http::request::precondition::etag_of;
use crate::http::route::Route;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/price-books/active", "getActivePrices", "Shows the prices in effect.", show)
            .returns::<PricesView>()
            .tagged(),
        Route::post(
            "/price-books/preview",
            "previewPrice",
            "Says what a request would cost; makes nothing, and needs no key and no money.",
            preview,
        )
        .body::<PreviewRequest>()
        .returns::<PricePreview>(),
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
    /// The customer whose tasks and names the body refers to.
    #[serde(default)]
    customer: Option<String>,
    /// The number of a version of the price book to price it by; without it, the prices in effect.
    #[serde(default)]
    price_book: Option<u64>,
}

async fn show(call: Call) -> Outcome {
    let prices = call.service.prices()?;
    let etag = etag_of(&prices);
    Ok(call.object(&prices, &etag))
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
    let found = call.service.preview_price(target, &Value::Object(body), customer, price_book).await?;
    Ok(Reply::json(&found))
}
