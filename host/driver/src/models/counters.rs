//! Counters that a provider tells beside plain tokens: what each costs, and a record of those that nobody has priced.
//!
//! A counter whose name begins as that of a token does (`input-audio`) is in the tokens' count already. So its price is what it costs
//! above, or below, those tokens.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};

use gatehouse_model::{Credits, metric};

use crate::models::bill::TokenPrices;

/// Names of counters that are told apart in the log and in metrics. A plugin makes these names up.
const MAX_NAMED: usize = 256;

/// What an operator may call a counter: the name of one of the token prices is not among them.
pub(crate) fn check(prices: &BTreeMap<String, Credits>) -> Result<(), (String, String)> {
    for (name, price) in prices {
        let wrong = |why: String| Err((format!("prices.counters.{name}"), why));
        if !gatehouse_model::is_kebab_case(name) || name.len() > 64 {
            return wrong(format!(
                "expected a counter's name in kebab-case of at most 64 bytes, got {name:?}"
            ));
        }
        if TOKENS.contains(&name.as_str()) {
            let key = name.replace('-', "_");
            return wrong(format!("expected its price as `{key}`, beside `counters`"));
        }
        if *price < Credits::ZERO {
            return wrong(format!("expected 0 or more credits, got {price}"));
        }
    }
    Ok(())
}

/// The counters that are tokens. Their prices have the same names, with underscores.
const TOKENS: [&str; 5] = ["input", "output", "cached", "cache-write", "cache-write-1h"];

/// What a counter is charged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rate {
    /// A million of them cost so much more than the tokens among which they are counted, which may cost nothing.
    Priced(i128),
    /// As the tokens among which they are counted.
    Tokens,
    /// Not at all.
    Unpriced,
}

fn rate(prices: &TokenPrices, name: &str) -> Rate {
    let beginnings =
        std::iter::successors(Some(name), |name| name.rsplit_once('-').map(|(beginning, _)| beginning));
    let mut own = None;
    for beginning in beginnings {
        own = own.or_else(|| prices.counters.get(beginning));
        if let Some(tokens) = prices.of_tokens(beginning) {
            return own.map_or(Rate::Tokens, |own| Rate::Priced(i128::from(own.0) - i128::from(tokens.0)));
        }
    }
    own.map_or(Rate::Unpriced, |own| Rate::Priced(own.0.into()))
}

/// What counters cost beside the tokens, in micro-credits for a million; below zero where a counter is cheaper than its tokens.
pub(crate) fn cost(prices: &TokenPrices, counters: &[(String, u64)]) -> Option<i128> {
    counters.iter().try_fold(0_i128, |sum, (name, count)| match rate(prices, name) {
        Rate::Priced(price) => sum.checked_add(price.checked_mul(i128::from(*count))?),
        Rate::Tokens | Rate::Unpriced => Some(sum),
    })
}

/// The dearest price of what may be counted among those tokens, or of the tokens themselves.
pub(crate) fn dearest(prices: &TokenPrices, tokens: &str) -> Credits {
    let of_tokens = prices.of_tokens(tokens).unwrap_or_default();
    let is_among = |name: &str| name.strip_prefix(tokens).is_some_and(|rest| rest.starts_with('-'));
    prices
        .counters
        .iter()
        .filter(|(name, _)| is_among(name))
        .map(|(_, price)| *price)
        .fold(of_tokens, Credits::max)
}

/// The unpriced counters of which the log has told.
#[derive(Debug, Default)]
pub(crate) struct UnpricedCounters(Mutex<HashSet<(String, String)>>);

impl UnpricedCounters {
    /// Records what of `counters` is not charged at all.
    pub(crate) fn record(&self, model: &str, prices: &TokenPrices, counters: &[(String, u64)]) {
        for (name, count) in counters.iter().filter(|(name, _)| rate(prices, name) == Rate::Unpriced) {
            let told = self.tell(model, name);
            let counter = if told { name.clone() } else { "other".to_owned() };
            metrics::counter!(metric::UNPRICED, "model" => model.to_owned(), "counter" => counter)
                .increment(*count);
        }
    }

    /// Tells of it once; whether there was room to remember it.
    fn tell(&self, model: &str, name: &str) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = (model.to_owned(), name.to_owned());
        if told.contains(&entry) {
            return true;
        }
        if told.len() >= MAX_NAMED {
            return false;
        }
        told.insert(entry);
        tracing::warn!(
            model,
            counter = name,
            "a provider counts what has no price and is not charged; set one in [models.\"{model}\".prices.counters]"
        );
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices(counters: &[(&str, i64)]) -> TokenPrices {
        let counters: serde_json::Map<_, _> = counters
            .iter()
            .map(|(name, price)| ((*name).to_owned(), Credits(*price).to_string().into()))
            .collect();
        let table = serde_json::json!({"input": "3", "output": "15", "cached": "0.3", "counters": counters});
        serde_json::from_value(table).expect("prices")
    }

    /// Without it a sound is paid as text, twice, or never.
    #[test]
    fn a_counter_costs_its_own_price_in_place_of_its_tokens() {
        let audio =
            prices(&[("input-audio", 40_000_000), ("output-draft", 1_000_000), ("searches", 5_000_000)]);
        for (name, expected) in [
            ("input-audio", Rate::Priced(37_000_000)),
            ("input-audio-cached", Rate::Priced(37_000_000)),
            ("input-picture", Rate::Tokens),
            ("output-draft", Rate::Priced(-14_000_000)),
            ("cached-audio", Rate::Tokens),
            ("cache-write-1h-audio", Rate::Tokens),
            ("searches", Rate::Priced(5_000_000)),
            ("searches-deep", Rate::Priced(5_000_000)),
            ("pages", Rate::Unpriced),
            ("inputs", Rate::Unpriced),
        ] {
            assert_eq!(rate(&audio, name), expected, "{name}");
        }
        let counted = [("input-audio".to_owned(), 10), ("searches".to_owned(), 2), ("pages".to_owned(), 9)];
        assert_eq!(cost(&audio, &counted), Some(380_000_000));
        assert_eq!(
            (dearest(&audio, "input"), dearest(&audio, "output")),
            (Credits(40_000_000), Credits(15_000_000))
        );
        assert_eq!(cost(&audio, &[("searches".to_owned(), u64::MAX)]).map(|cost| cost > 0), Some(true));
    }

    #[test]
    fn a_price_names_a_counter() {
        let check = |name: &str, price| check(&BTreeMap::from([(name.to_owned(), Credits(price))]));
        assert_eq!(check("input-audio", 0), Ok(()));
        for (name, price, why) in [
            ("input", 1, "expected its price as `input`, beside `counters`"),
            ("cache-write-1h", 1, "expected its price as `cache_write_1h`, beside `counters`"),
            (
                "input_audio",
                1,
                "expected a counter's name in kebab-case of at most 64 bytes, got \"input_audio\"",
            ),
            ("searches", -1, "expected 0 or more credits, got -0.000001"),
        ] {
            assert_eq!(check(name, price), Err((format!("prices.counters.{name}"), why.to_owned())));
        }
    }

    /// Without it one bad plugin fills the log and the metrics with names.
    #[test]
    fn names_are_remembered_up_to_a_number() {
        let unpriced = UnpricedCounters::default();
        for number in 0..MAX_NAMED {
            assert!(unpriced.tell("m", &format!("counter-{number}")));
        }
        assert!(unpriced.tell("m", "counter-0") && !unpriced.tell("m", "one-more"));
    }
}
