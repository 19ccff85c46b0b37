//! The answer to `dry_run: true`: what a request would cost, in credits.

use std::borrow::Cow;

use gatehouse_driver::{ChargeUnit, DryRun, DryRunCharge};
use gatehouse_model::view;
use http::Response;
use serde::Serialize;

use crate::endpoints::task_view::{TaskFailureView, failure};
use crate::endpoints::usage::Amount;
use crate::response::{self, ResponseBody};

const MILLION: f64 = 1_000_000.0;

view! {
    #[derive(Serialize)]
    struct DryRunView of (dry_run: DryRun) {
        dry_run: bool = true,
        model: String = dry_run.model,
        charges: Vec<ChargeView> = dry_run.charges.into_iter().map(ChargeView::from).collect(),
        sum: Amount = Amount(dry_run.sum),
        at_most: bool = dry_run.at_most,
        #[serde(skip_serializing_if = "Option::is_none")]
        estimated_time: Option<u64> = dry_run.expected_ms.map(|ms| u64::from(ms).div_ceil(1000)),
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<TaskFailureView> = dry_run.failure.map(failure),
    }
}

view! {
    #[derive(Serialize)]
    struct ChargeView of (charge: DryRunCharge) where {
        let (unit, quantity) = match charge.unit {
            ChargeUnit::Unit(unit) if unit.is_empty() => ("unit".into(), None),
            ChargeUnit::Unit(unit) => (unit.into(), None),
            ChargeUnit::InputTokens => ("million input tokens".into(), millions(charge.quantity)),
            ChargeUnit::OutputTokens => ("million output tokens".into(), millions(charge.quantity)),
        };
    } {
        price_keys: Vec<String> = charge.keys,
        price_key: String = charge.key,
        unit: Cow<'static, str> = unit,
        /// For how many of them the price is; one where it is not said.
        #[serde(skip_serializing_if = "Option::is_none")]
        per: Option<u32> = quantity.is_none().then_some(charge.per).filter(|per| *per > 1),
        quantity: serde_json::Number = quantity.unwrap_or_else(|| charge.quantity.into()),
        unit_price: Amount = Amount(charge.unit_price),
        sum: Amount = Amount(charge.sum),
    }
}

#[expect(clippy::cast_precision_loss, reason = "tokens are far fewer than 2^53")]
fn millions(tokens: u64) -> Option<serde_json::Number> {
    serde_json::Number::from_f64(tokens as f64 / MILLION)
}

/// The answer, `wrapped` where the endpoint's answers are.
pub(super) fn answer(dry_run: DryRun, wrapped: bool) -> Response<ResponseBody> {
    let data = DryRunView::from(dry_run);
    if wrapped { response::wrapped(data) } else { response::json(&data) }
}
