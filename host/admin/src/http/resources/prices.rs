//! `/price-books`: the prices in effect. A version is a digest of all prices: it changes whenever one of them does.

use gatehouse_driver::{PriceList, TokenPrices};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::call::{Call, Outcome};
use crate::http::request::precondition::etag_of;
use crate::http::route::Route;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/price-books/active", "getActivePrices", "Shows the prices in effect.", show)
            .returns::<PricesView>()
            .tagged(),
    ]
}

/// All prices of the configuration in effect.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PriceBook")]
struct PricesView {
    /// A digest of all prices.
    version: String,
    /// By price key. A request is charged by the most specific of its keys that has a price.
    units: Vec<UnitPrice>,
    /// By text model.
    tokens: Vec<TokenPrice>,
}

/// What one unit of a price key costs.
#[derive(Debug, Serialize, JsonSchema)]
struct UnitPrice {
    /// The price key.
    key: String,
    /// Of one unit.
    price_micro: i64,
}

/// What a million tokens of a text model cost.
#[derive(Debug, Serialize, JsonSchema)]
struct TokenPrice {
    /// The model.
    model: String,
    /// Its other names.
    aliases: Vec<String>,
    /// The provider that serves it.
    provider: String,
    /// Of a million tokens read.
    input_micro: i64,
    /// Of a million tokens written; null where the model writes none.
    output_micro: Option<i64>,
    /// Of a million tokens read from a cache.
    cached_micro: i64,
    /// Of a million tokens read and put into a cache.
    cache_write_micro: i64,
}

impl From<PriceList> for PricesView {
    fn from(list: PriceList) -> Self {
        let units = list.units.into_iter().map(|(key, price)| UnitPrice { key, price_micro: price.0 });
        let tokens = list.tokens.into_iter().map(|(model, prices)| {
            let TokenPrices { input, output, cached, cache_write } = prices.prices;
            TokenPrice {
                model,
                aliases: prices.aliases,
                provider: prices.provider,
                input_micro: input.0,
                output_micro: output.map(|price| price.0),
                cached_micro: cached.unwrap_or(input).0,
                cache_write_micro: cache_write.unwrap_or(input).0,
            }
        });
        Self { version: list.version.to_string(), units: units.collect(), tokens: tokens.collect() }
    }
}

async fn show(call: Call) -> Outcome {
    let prices = PricesView::from(call.service.prices()?);
    let etag = etag_of(&prices);
    Ok(call.object(&prices, &etag))
}
