//! The list: an object of entries by name, each with dollars for one token of each kind. What of an entry costs something and is
//! not understood is named, so that nobody takes a part for the whole.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gatehouse_model::Credits;
use serde_json::value::RawValue;

use crate::price_list::CannotImport;
use crate::price_list::decimal::{Converted, Decimal};

/// Fields of an entry, and the price of the configuration that each is. One with a point is a counter's.
const FIELDS: [(&str, &str); 7] = [
    ("input_cost_per_token", "input"),
    ("output_cost_per_token", "output"),
    ("cache_read_input_token_cost", "cached"),
    ("cache_creation_input_token_cost", "cache_write"),
    ("cache_creation_input_token_cost_above_1hr", "cache_write_1h"),
    ("input_cost_per_audio_token", "counters.input-audio"),
    ("output_cost_per_audio_token", "counters.output-audio"),
];
/// Characters of a value that an error repeats.
const SHOWN: usize = 60;

type Entry<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// A list that was read.
pub(crate) struct PriceList<'a>(BTreeMap<Cow<'a, str>, &'a RawValue>);

/// What an entry says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListedPrices {
    /// By the name of the price in the configuration: of a million tokens.
    pub(super) prices: BTreeMap<&'static str, Credits>,
    /// Those of them that were rounded up.
    pub(super) rounded: Vec<&'static str>,
    /// Other fields that cost something, with their values.
    pub(super) not_understood: Vec<(String, String)>,
}

impl<'a> PriceList<'a> {
    /// Reads a list.
    ///
    /// # Errors
    /// A text that is no object of objects.
    pub(crate) fn parse(text: &'a str) -> Result<Self, CannotImport> {
        let entries = serde_json::from_str(text).map_err(|error| {
            CannotImport(format!("the list: expected an object of entries by name: {error}"))
        })?;
        Ok(Self(entries))
    }

    /// Whether it has an entry of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// What the entry of that name says, at so many credits a dollar.
    ///
    /// # Errors
    /// No such entry, or a price in it that is no amount.
    pub(super) fn prices(
        &self,
        name: &str,
        credits_per_dollar: Credits,
    ) -> Result<ListedPrices, CannotImport> {
        let raw = self.0.get(name).ok_or_else(|| CannotImport(format!("the list has no entry {name:?}")))?;
        let entry: Entry<'_> = serde_json::from_str(raw.get())
            .map_err(|error| CannotImport(format!("entry {name:?}: expected an object: {error}")))?;
        let mut found = ListedPrices::default();
        for (field, raw) in &entry {
            let known = FIELDS.iter().find(|(listed, _)| listed == field);
            let Some(&(_, price)) = known else {
                if costs(field, raw) && !is_known_otherwise(field, raw, &entry) {
                    found.not_understood.push((field.clone().into_owned(), shown(raw)));
                }
                continue;
            };
            if raw.get() == "null" {
                continue;
            }
            let amount = decimal(raw).and_then(|amount| amount.per_million_tokens(credits_per_dollar));
            let Converted { credits, is_rounded } = amount.ok_or_else(|| {
                let got = shown(raw);
                CannotImport(format!(
                    "entry {name:?}: {field}: expected dollars for one token, zero or more, got {got}"
                ))
            })?;
            found.prices.insert(price, credits);
            if is_rounded {
                found.rounded.push(price);
            }
        }
        Ok(found)
    }
}

/// A number, also as a text.
fn decimal(raw: &RawValue) -> Option<Decimal> {
    Decimal::parse(raw.get().trim_matches('"'))
}

fn costs(field: &str, raw: &RawValue) -> bool {
    let is_free = matches!(raw.get(), "null" | "{}" | "[]") || decimal(raw).is_some_and(Decimal::is_zero);
    (field.contains("cost") || field.contains("pric")) && !is_free
}

/// Reasoning is paid as every other token that is written, unless it costs something else.
fn is_known_otherwise(field: &str, raw: &RawValue, entry: &Entry<'_>) -> bool {
    field == "output_cost_per_reasoning_token"
        && entry.get("output_cost_per_token").is_some_and(|output| output.get() == raw.get())
}

fn shown(raw: &RawValue) -> String {
    raw.get().chars().take(SHOWN).filter(|letter| !letter.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"{
        "sample_spec": {"input_cost_per_token": "documentation"},
        "model-a": {
            "litellm_provider": "p", "mode": "chat", "max_input_tokens": 200000,
            "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05, "cache_read_input_token_cost": 3e-07,
            "cache_creation_input_token_cost": 3.75e-06, "cache_creation_input_token_cost_above_1hr": 6e-06,
            "input_cost_per_token_above_200k_tokens": 6e-06, "input_cost_per_token_batches": 0.0,
            "search_context_cost_per_query": {"search_context_size_low": 0.01}, "output_cost_per_reasoning_token": 1.5e-05,
            "input_cost_per_audio_token": "4e-05", "output_cost_per_image": null
        },
        "odd": {"input_cost_per_token": 1.23456789e-06, "output_cost_per_token": null, "output_cost_per_reasoning_token": 1e-6},
        "bad": {"input_cost_per_token": -1e-06},
        "text": "x"
    }"#;

    fn one() -> Credits {
        "1".parse().expect("credits")
    }

    /// Without it a price above 200,000 tokens is silently charged as below.
    #[test]
    fn prices_are_read_and_the_rest_that_costs_is_named() {
        let list = PriceList::parse(LIST).expect("a list");
        let found = list.prices("model-a", one()).expect("prices");
        let told: Vec<_> = found.prices.iter().map(|(name, price)| (*name, price.to_string())).collect();
        let expected = [
            ("cache_write", "3.75"),
            ("cache_write_1h", "6"),
            ("cached", "0.3"),
            ("counters.input-audio", "40"),
            ("input", "3"),
            ("output", "15"),
        ];
        assert_eq!(told, expected.map(|(name, price)| (name, price.to_owned())));
        let others: Vec<_> = found.not_understood.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(others, ["input_cost_per_token_above_200k_tokens", "search_context_cost_per_query"]);
        assert!(found.rounded.is_empty());
        let odd = list.prices("odd", one()).expect("prices");
        assert_eq!((odd.prices["input"].to_string(), odd.rounded), ("1.234568".to_owned(), vec!["input"]));
        assert_eq!(odd.not_understood, [("output_cost_per_reasoning_token".to_owned(), "1e-6".to_owned())]);
    }

    #[test]
    fn what_is_no_price_names_entry_and_field() {
        let list = PriceList::parse(LIST).expect("a list");
        for (entry, why) in [
            ("none", "the list has no entry \"none\""),
            ("text", "entry \"text\": expected an object"),
            (
                "bad",
                "entry \"bad\": input_cost_per_token: expected dollars for one token, zero or more, got -1e-06",
            ),
            ("sample_spec", "input_cost_per_token: expected dollars for one token"),
        ] {
            let error = list.prices(entry, one()).expect_err("refused").to_string();
            assert!(error.contains(why), "{error}");
        }
        for text in ["", "[]", "7", "{"] {
            assert!(PriceList::parse(text).is_err(), "{text}");
        }
    }
}
