//! What fields cost beside tokens: those that the provider is sent because the model's `pass` names them. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gatehouse_model::{Credits, Payload, Prepared};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::models::bill::{Bill, TokenPrices};

/// What a passed field costs, by its name (`web_search_options`) or its name and value (`service_tier=priority`).
pub(crate) type PassPrices = BTreeMap<String, PassPrice>;

/// What one passed field costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PassPrice {
    /// By how much every price of tokens is multiplied, as text: `"2"`, `"1.25"`.
    pub factor: Option<Credits>,
    /// Credits for each request that is charged.
    pub request: Option<Credits>,
}

/// Whether every entry can be used, and is about a field that the model's `pass` names.
///
/// # Errors
/// The first that cannot: its name, and what was expected.
pub(crate) fn check(table: &PassPrices, pass: Option<&serde_json::Value>) -> Result<(), (String, String)> {
    let passed = |field: &str| {
        pass.and_then(|pass| pass.as_array()).is_some_and(|all| all.iter().any(|it| it == field))
    };
    for (name, price) in table {
        let wrong = |why: &str| Err((name.clone(), why.to_owned()));
        if !passed(field(name)) {
            return wrong("expected a field that `rules.pass` names, or one of its values as `field=value`");
        }
        if (price.factor, price.request) == (None, None) {
            return wrong("expected `factor` or `request`");
        }
        if [price.factor, price.request].iter().flatten().any(|price| *price < Credits::ZERO) {
            return wrong("expected a number of 0 or more");
        }
    }
    Ok(())
}

fn field(name: &str) -> &str {
    name.split_once('=').map_or(name, |(field, _)| field)
}

/// The bill of a request at these prices, with what it passes. `None` when a price does not fit.
pub(crate) fn bill(table: &PassPrices, prices: TokenPrices, prepared: &Prepared) -> Option<Bill> {
    let (prices, request) = priced(table, prices, &prepared.call.body)?;
    Some(Bill::new(prices, request, prepared))
}

/// The prices of a request's tokens and of the request itself, with what it passes. Of a field the entry of its value counts,
/// or else that of its name. `None` when a price does not fit.
fn priced(table: &PassPrices, prices: TokenPrices, sent: &Payload) -> Option<(TokenPrices, Credits)> {
    let members: BTreeMap<String, &RawValue> = match sent {
        // A plugin's call is JSON.
        Payload::Json(body) if !table.is_empty() => serde_json::from_slice(body).unwrap_or_default(),
        _ => BTreeMap::new(),
    };
    let (mut prices, mut request) = (prices, Credits::ZERO);
    for (name, raw) in members.iter().filter(|(_, raw)| raw.get() != "null") {
        let text: Option<Cow<'_, str>> = serde_json::from_str(raw.get()).ok();
        let value = text.unwrap_or_else(|| Cow::Borrowed(raw.get()));
        let Some(price) = table.get(&format!("{name}={value}")).or_else(|| table.get(name)) else {
            continue;
        };
        if let Some(factor) = price.factor {
            prices = prices.times(factor)?;
        }
        request = request.checked_add(price.request.unwrap_or_default())?;
    }
    Some((prices, request))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table(json: serde_json::Value) -> PassPrices {
        serde_json::from_value(json).expect("a table")
    }

    /// Without it what a client may ask of the provider beside tokens is the operator's cost.
    #[test]
    fn what_is_passed_multiplies_prices_or_costs_by_the_request() {
        let table = table(json!({
            "service_tier=priority": {"factor": "2"}, "service_tier": {"factor": "0.5"}, "search": {"request": "0.01"},
        }));
        let plain = TokenPrices {
            input: Credits(3),
            output: Some(Credits(5)),
            cached: Some(Credits(1)),
            ..TokenPrices::default()
        };
        for (sent, input, output, cached, request) in [
            (json!({}), 3, 5, 1, 0),
            (json!({"service_tier": "priority"}), 6, 10, 2, 0),
            (json!({"service_tier": "flex", "search": {}}), 2, 3, 1, 10_000),
            (json!({"service_tier": null, "search": null}), 3, 5, 1, 0),
        ] {
            let (prices, fee) = priced(&table, plain.clone(), &Payload::Json(sent.to_string().into()))
                .expect("prices that fit");
            let found = (prices.input.0, prices.output.map(|it| it.0), prices.cached.map(|it| it.0), fee.0);
            assert_eq!(found, (input, Some(output), Some(cached), request), "{sent}");
        }
    }

    #[test]
    fn a_price_of_what_is_not_passed_is_refused() {
        let pass = json!(["service_tier"]);
        let price = |name: &str, price: serde_json::Value| check(&table(json!({name: price})), Some(&pass));
        assert_eq!(price("service_tier=priority", json!({"factor": "2"})), Ok(()));
        for (name, wrong, why) in [
            ("search", json!({"factor": "2"}), "`rules.pass`"),
            ("service_tier", json!({}), "`factor` or `request`"),
            ("service_tier", json!({"request": "-1"}), "0 or more"),
        ] {
            let (found, said) = price(name, wrong).expect_err("refused");
            assert!(found == name && said.contains(why), "{found}: {said}");
        }
        assert!(check(&table(json!({"a": {"factor": "2"}})), None).is_err());
    }
}
