//! The answer to `dry_run: true`: what a request would cost, in credits.

use std::borrow::Cow;

use gatehouse_driver::{ChargeUnit, DryRun, DryRunCharge};
use gatehouse_model::Credits;
use http::Response;
use serde::Serialize;

use crate::endpoints::task_view::{TaskFailureView, as_json_number, failure};
use crate::response::{self, ResponseBody};

const MILLION: f64 = 1_000_000.0;

#[derive(Serialize)]
struct DryRunView {
    dry_run: bool,
    model: String,
    charges: Vec<ChargeView>,
    #[serde(serialize_with = "as_json_number")]
    sum: Option<Credits>,
    at_most: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_time: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<TaskFailureView>,
}

#[derive(Serialize)]
struct ChargeView {
    price_keys: Vec<String>,
    price_key: String,
    unit: Cow<'static, str>,
    quantity: serde_json::Number,
    /// For how many of them the price is; one where it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    per: Option<u32>,
    #[serde(serialize_with = "as_json_number")]
    unit_price: Option<Credits>,
    #[serde(serialize_with = "as_json_number")]
    sum: Option<Credits>,
}

/// The answer, `wrapped` where the endpoint's answers are.
pub(super) fn answer(dry_run: DryRun, wrapped: bool) -> Response<ResponseBody> {
    let data = view(dry_run);
    if wrapped { response::wrapped(data) } else { response::json(&data) }
}

fn view(dry_run: DryRun) -> DryRunView {
    DryRunView {
        dry_run: true,
        model: dry_run.model,
        charges: dry_run.charges.into_iter().map(charge).collect(),
        sum: Some(dry_run.sum),
        at_most: dry_run.at_most,
        estimated_time: dry_run.expected_ms.map(|ms| u64::from(ms).div_ceil(1000)),
        failure: dry_run.failure.map(failure),
    }
}

#[expect(clippy::cast_precision_loss, reason = "tokens are far fewer than 2^53")]
fn charge(charge: DryRunCharge) -> ChargeView {
    let millions = || serde_json::Number::from_f64(charge.quantity as f64 / MILLION);
    let (unit, quantity) = match charge.unit {
        ChargeUnit::Unit(unit) if unit.is_empty() => ("unit".into(), None),
        ChargeUnit::Unit(unit) => (unit.into(), None),
        ChargeUnit::InputTokens => ("million input tokens".into(), millions()),
        ChargeUnit::OutputTokens => ("million output tokens".into(), millions()),
    };
    ChargeView {
        price_keys: charge.keys,
        price_key: charge.key,
        unit,
        per: quantity.is_none().then_some(charge.per).filter(|per| *per > 1),
        quantity: quantity.unwrap_or_else(|| charge.quantity.into()),
        unit_price: Some(charge.unit_price),
        sum: Some(charge.sum),
    }
}
