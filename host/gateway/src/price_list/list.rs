//! The list: an object of entries by name, each with dollars for one token of each kind. What of an entry costs something and is
//! not understood is named, so that nobody takes a part for the whole.
//!
//! A number of a JSON text by its digits, so that no price passes through a float.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gatehouse_model::Credits;
use serde::Serialize;
use serde_json::value::RawValue;

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
    pub(super) prices: BTreeMap<&'static str, Converted>,
    /// Other fields that cost something.
    pub(super) not_understood: Vec<OtherField>,
}

/// A field that costs something and is no price of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct OtherField {
    field: String,
    value: String,
}

impl<'a> PriceList<'a> {
    /// Reads a list.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        serde_json::from_str(text)
            .map(Self)
            .map_err(|error| format!("the list: expected an object of entries by name: {error}"))
    }

    /// Whether it has an entry of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// What the entry of that name says, at so many credits a dollar.
    ///
    /// # Errors
    /// No such entry, or a price in it that is no amount.
    pub(super) fn prices(&self, name: &str, credits_per_dollar: Credits) -> Result<ListedPrices, String> {
        let raw = self.0.get(name).ok_or_else(|| format!("the list has no entry {name:?}"))?;
        let entry: Entry<'_> = serde_json::from_str(raw.get())
            .map_err(|error| format!("entry {name:?}: expected an object: {error}"))?;
        let mut found = ListedPrices::default();
        for (field, raw) in &entry {
            let known = FIELDS.iter().find(|(listed, _)| listed == field);
            let Some(&(_, price)) = known else {
                if costs(field, raw) && !is_known_otherwise(field, raw, &entry) {
                    let field = field.clone().into_owned();
                    found.not_understood.push(OtherField { field, value: shown(raw) });
                }
                continue;
            };
            if raw.get() == "null" {
                continue;
            }
            let amount = decimal(raw).and_then(|amount| amount.per_million_tokens(credits_per_dollar));
            let amount = amount.ok_or_else(|| {
                let got = shown(raw);
                format!("entry {name:?}: {field}: expected dollars for one token, zero or more, got {got}")
            })?;
            found.prices.insert(price, amount);
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

/// `digits` times ten to the power of `exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: i128,
    exponent: i32,
}

/// An amount of credits, and whether it was rounded up to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Converted {
    pub(super) credits: Credits,
    pub(super) is_rounded: bool,
}

impl Decimal {
    /// Reads a number as JSON writes it. `None` for other text, and for more digits than any price has.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (sign, text) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = || whole.bytes().chain(fraction.bytes());
        if whole.is_empty() || !all().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let digits =
            all().try_fold(0_i128, |sum, digit| sum.checked_mul(10)?.checked_add((digit - b'0').into()))?;
        let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        Some(Self { digits: digits * sign, exponent })
    }

    pub(super) fn is_zero(self) -> bool {
        self.digits == 0
    }

    /// Dollars for one token as credits for a million of them, at so many credits a dollar: exact, or the next micro-credit
    /// above. `None` below zero, and for what is too large.
    pub(super) fn per_million_tokens(self, credits_per_dollar: Credits) -> Option<Converted> {
        const MILLION: i32 = 6;
        if self.digits < 0 || credits_per_dollar.0 < 0 {
            return None;
        }
        let micro = self.digits.checked_mul(credits_per_dollar.0.into())?;
        let exponent = self.exponent.checked_add(MILLION)?;
        let scale = 10_i128.checked_pow(exponent.unsigned_abs());
        let (micro, is_rounded) = match scale {
            _ if micro == 0 => (0, false),
            _ if exponent >= 0 => (micro.checked_mul(scale?)?, false),
            // Less than a micro-credit.
            None => (1, true),
            Some(divisor) => {
                let is_rounded = micro % divisor != 0;
                (micro / divisor + i128::from(is_rounded), is_rounded)
            }
        };
        Some(Converted { credits: Credits(i64::try_from(micro).ok()?), is_rounded })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        let told: Vec<_> =
            found.prices.iter().map(|(name, price)| (*name, price.credits.to_string())).collect();
        let expected = [
            ("cache_write", "3.75"),
            ("cache_write_1h", "6"),
            ("cached", "0.3"),
            ("counters.input-audio", "40"),
            ("input", "3"),
            ("output", "15"),
        ];
        assert_eq!(told, expected.map(|(name, price)| (name, price.to_owned())));
        let others: Vec<_> = found.not_understood.iter().map(|other| other.field.as_str()).collect();
        assert_eq!(others, ["input_cost_per_token_above_200k_tokens", "search_context_cost_per_query"]);
        assert!(found.prices.values().all(|price| !price.is_rounded));
        let odd = list.prices("odd", one()).expect("prices");
        let input = odd.prices["input"];
        assert_eq!((input.credits.to_string(), input.is_rounded), ("1.234568".to_owned(), true));
        let (field, value) = ("output_cost_per_reasoning_token".to_owned(), "1e-6".to_owned());
        assert_eq!(odd.not_understood, [OtherField { field, value }]);
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
            let error = list.prices(entry, one()).expect_err("refused");
            assert!(error.contains(why), "{error}");
        }
        for text in ["", "[]", "7", "{"] {
            assert!(PriceList::parse(text).is_err(), "{text}");
        }
    }

    fn converted(text: &str, rate: &str) -> Option<(String, bool)> {
        let found = Decimal::parse(text)?.per_million_tokens(rate.parse().expect("credits"))?;
        Some((found.credits.to_string(), found.is_rounded))
    }

    /// Without it 1.1e-06 dollars, which no float is, come to 1.100001 credits, or to 1.099999.
    #[test]
    fn amounts_are_exact_and_rounding_is_told() {
        for (text, rate, expected) in [
            ("3e-06", "1", Some(("3", false))),
            ("0.000003", "1", Some(("3", false))),
            ("1.1e-06", "1", Some(("1.1", false))),
            ("1.25E-7", "1", Some(("0.125", false))),
            ("7.5e-08", "100", Some(("7.5", false))),
            ("1e-06", "0.5", Some(("0.5", false))),
            ("1.5e-13", "1", Some(("0.000001", true))),
            ("3.0000005e-06", "1", Some(("3.000001", true))),
            ("0", "1", Some(("0", false))),
            ("0.0", "1", Some(("0", false))),
            ("0e-99", "1", Some(("0", false))),
            ("1e-400", "1", Some(("0.000001", true))),
            ("2", "1", Some(("2000000", false))),
            ("1e40", "1", None),
            ("1e9", "1", None),
            ("-1e-06", "1", None),
            ("", "1", None),
            (".5", "1", None),
            ("1.e", "1", None),
            ("NaN", "1", None),
            ("1e99999999999", "1", None),
        ] {
            let found = converted(text, rate);
            assert_eq!(found, expected.map(|(text, rounded)| (text.to_owned(), rounded)), "{text} at {rate}");
        }
    }

    proptest! {
        /// The amount is the least one that is not below the price, and says when it is above.
        #[test]
        fn an_amount_is_the_price_or_the_next_one_above(
            digits in 0_i128..1_000_000_000_000, places in 0_u32..20, rate in 0_i64..10_000_000_000,
        ) {
            let text = format!("{digits}e-{places}");
            let found = Decimal::parse(&text).unwrap().per_million_tokens(Credits(rate));
            let exact = digits * i128::from(rate) * 1_000_000;
            let scale = 10_i128.pow(places);
            match found {
                Some(Converted { credits, is_rounded }) => {
                    let micro = i128::from(credits.0);
                    prop_assert!(micro * scale >= exact && (micro == 0 || (micro - 1) * scale < exact));
                    prop_assert_eq!(is_rounded, micro * scale != exact);
                }
                None => prop_assert!(exact / scale >= i128::from(i64::MAX)),
            }
        }

        #[test]
        fn every_way_to_write_a_number_is_the_same_amount(digits in 0_u64..1_000_000_000, places in 1_usize..12) {
            let plain = format!("{digits:0width$}", width = places + 1);
            let (whole, fraction) = plain.split_at(plain.len() - places);
            let amount = |text: String| Decimal::parse(&text).unwrap().per_million_tokens(Credits(Credits::UNIT));
            prop_assert_eq!(amount(format!("{whole}.{fraction}")), amount(format!("{digits}e-{places}")));
            prop_assert_eq!(amount(format!("{whole}.{fraction}00")), amount(format!("{digits}0E-{}", places + 1)));
        }
    }
}
