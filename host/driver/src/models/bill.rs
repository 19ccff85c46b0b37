//! The price of tokens in credits, and estimates where the provider gave no count. Pure, checked, rounded up once
//! at the end.

use std::collections::BTreeMap;

use gatehouse_model::{Credits, Prepared, Usage};
use serde::Deserialize;

use crate::models::counters;

/// Credits for a million tokens of each kind.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(Default))]
#[serde(deny_unknown_fields)]
pub struct TokenPrices {
    /// Read.
    pub input: Credits,
    /// Written; models of embeddings write nothing and need none.
    pub output: Option<Credits>,
    /// Read from a cache; absent: as `input`.
    pub cached: Option<Credits>,
    /// Read and put into a cache; absent: as `input`.
    pub cache_write: Option<Credits>,
    /// Read and put into a cache that keeps it for an hour; absent: twice `input`, and no less than `cache_write`.
    pub cache_write_1h: Option<Credits>,
    /// Of a million of any other counter that a provider tells, by its name in the contract (`input-audio`).
    #[serde(default)]
    pub counters: BTreeMap<String, Credits>,
}

impl TokenPrices {
    /// Of a million tokens, by the name of their counter; `None` where these are no tokens.
    pub(crate) fn of_tokens(&self, counter: &str) -> Option<Credits> {
        Some(match counter {
            "input" => self.input,
            "output" => self.output.unwrap_or(Credits::ZERO),
            "cached" => self.cached.unwrap_or(self.input),
            "cache-write" => self.cache_write(),
            "cache-write-1h" => self.cache_write_1h(),
            _ => return None,
        })
    }

    /// Of a million tokens that a cache keeps for minutes.
    #[must_use]
    pub fn cache_write(&self) -> Credits {
        self.cache_write.unwrap_or(self.input)
    }

    /// Each of them so many times, rounded up. `None` when one does not fit.
    pub(crate) fn times(&self, factor: Credits) -> Option<Self> {
        let times = |price: Credits| {
            let product = i128::from(price.0)
                .checked_mul(factor.0.into())?
                .checked_add(i128::from(Credits::UNIT) - 1)?;
            i64::try_from(product / i128::from(Credits::UNIT)).ok().map(Credits)
        };
        let all = |price: Option<Credits>| match price {
            Some(price) => times(price).map(Some),
            None => Some(None),
        };
        Some(Self {
            input: times(self.input)?,
            output: all(self.output)?,
            cached: all(self.cached)?,
            cache_write: all(self.cache_write)?,
            cache_write_1h: all(self.cache_write_1h)?,
            counters: self
                .counters
                .iter()
                .map(|(name, price)| Some((name.clone(), times(*price)?)))
                .collect::<Option<_>>()?,
        })
    }

    /// Of a million tokens that a cache keeps for an hour.
    #[must_use]
    pub fn cache_write_1h(&self) -> Credits {
        let twice = || Credits(self.input.0.saturating_mul(2)).max(self.cache_write());
        self.cache_write_1h.unwrap_or_else(twice)
    }
}

/// The price of one request.
#[derive(Clone, Debug)]
pub(crate) struct Bill {
    pub(crate) prices: TokenPrices,
    /// Of the request itself, for what it passes.
    pub(crate) request: Credits,
    input_bytes: u64,
    pictures: u64,
    max_output_tokens: u64,
}

/// Who counted the tokens of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// Its provider.
    Told,
    /// Some of them are a guess by the text there was.
    Estimated,
    /// The gateway, up to the moment at which the client left.
    UntilLeft,
}

impl Count {
    /// What a memo says of it; `host/store/src/open/derived.rs` reads the memo again.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::Told => "",
            Self::Estimated => ", estimated",
            Self::UntilLeft => ", counted until its client left",
        }
    }
}

const MILLION: i128 = 1_000_000;
/// Tokens of one kind that a provider may count in one request.
const MAX_COUNT: u64 = 10_000_000;
/// Bytes of text in a token, at least and usually: two bounds of the input.
const MIN_BYTES_PER_TOKEN: u64 = 2;
const USUAL_BYTES_PER_TOKEN: u64 = 4;
/// Tokens a provider adds for roles, tools and frames.
const FRAME_TOKENS: u64 = 400;
/// Tokens of the largest picture, and of a usual one.
const MAX_PICTURE_TOKENS: u64 = 5_000;
const USUAL_PICTURE_TOKENS: u64 = 1_600;

impl Bill {
    pub(crate) fn new(prices: TokenPrices, request: Credits, prepared: &Prepared) -> Self {
        Self {
            prices,
            request,
            input_bytes: prepared.input_bytes.into(),
            pictures: prepared.pictures.into(),
            max_output_tokens: prepared.max_output_tokens.into(),
        }
    }

    fn max_input_tokens(&self) -> u64 {
        self.input_bytes / MIN_BYTES_PER_TOKEN + FRAME_TOKENS + self.pictures * MAX_PICTURE_TOKENS
    }

    /// Of the bills at several targets the one that may become the highest, with its highest cost. `None` when one does not fit.
    pub(crate) fn dearest(bills: Vec<Self>) -> Option<(Credits, Self)> {
        let costs: Option<Vec<_>> = bills.into_iter().map(|bill| Some((bill.max_cost()?, bill))).collect();
        costs?.into_iter().max_by_key(|(cost, _)| *cost)
    }

    /// The hold: an upper estimate of the cost, of what is counted in tokens. `None` when it does not fit.
    pub(crate) fn max_cost(&self) -> Option<Credits> {
        let [input, output] = self.parts()?;
        // One rounding for both.
        let exact = [input, output].iter().try_fold(0_i128, |sum, (tokens, price, _)| {
            sum.checked_add(i128::from(*tokens).checked_mul(i128::from(price.0))?)
        })?;
        rounded(exact)?.checked_add(self.request)
    }

    /// Of the hold: input and output, each with its tokens, the highest price that may apply, and its cost.
    pub(crate) fn parts(&self) -> Option<[(u64, Credits, Credits); 2]> {
        let dearest = |counter| counters::dearest(&self.prices, counter);
        let input = dearest("input").max(dearest("cached")).max(dearest("cache-write"));
        let part = |tokens: u64, price: Credits| {
            Some((tokens, price, rounded(i128::from(tokens).checked_mul(i128::from(price.0))?)?))
        };
        Some([part(self.max_input_tokens(), input)?, part(self.max_output_tokens, dearest("output"))?])
    }

    /// What the request takes of a rate of tokens before its provider counts: usual input, and all the output it may get.
    pub(crate) fn estimated_tokens(&self) -> u64 {
        self.guess(0).input.saturating_add(self.max_output_tokens)
    }

    /// Tokens as a rate counts them. Input from a cache counts by its price: a tenth of it for a tenth of the price.
    pub(crate) fn rated_tokens(&self, usage: &Usage) -> u64 {
        let Usage { input, output, cached, cache_write, .. } = *usage;
        let (full, price) = (self.prices.input, self.prices.cached.unwrap_or(self.prices.input));
        let cached = match (u128::try_from(full.0), u128::try_from(price.0)) {
            (Ok(full @ 1..), Ok(price)) if price < full => (u128::from(cached) * price).div_ceil(full),
            _ => cached.into(),
        };
        let cached = u64::try_from(cached).unwrap_or(u64::MAX);
        [output, cached, cache_write].iter().fold(input, |sum, tokens| sum.saturating_add(*tokens))
    }

    /// The cost of the counted tokens, which may be above what was `held`. A count of more than any model reads or writes is
    /// the provider's mistake: the hold is its limit.
    pub(crate) fn cost(&self, usage: &Usage, counters: &[(String, u64)], held: Credits) -> Credits {
        let cost = cost(&self.prices, usage, counters);
        let cost = cost.and_then(|cost| cost.checked_add(self.request)).unwrap_or(held);
        let all =
            usage.kinds().into_iter().map(|(_, count)| count).chain(counters.iter().map(|(_, count)| *count));
        let is_possible = all.into_iter().all(|count| count <= MAX_COUNT);
        if is_possible { cost } else { cost.min(held) }
    }

    /// The tokens of a whole answer of `output_bytes` of text, and who counted them. A count of zero tokens is ignored
    /// where something was read or written.
    pub(crate) fn counted(&self, usage: Option<Usage>, output_bytes: u64) -> (Usage, Count) {
        let guess = self.guess(output_bytes);
        match usage {
            None => (guess, Count::Estimated),
            Some(none) if none == Usage::default() && output_bytes == 0 => (none, Count::Told),
            Some(counted) => {
                let full = with_zeros_guessed(counted, &guess);
                (full, if full == counted { Count::Told } else { Count::Estimated })
            }
        }
    }

    /// The tokens of an answer without a count: `output_bytes` of text.
    pub(crate) fn guess(&self, output_bytes: u64) -> Usage {
        Usage {
            input: self.input_bytes / USUAL_BYTES_PER_TOKEN + self.pictures * USUAL_PICTURE_TOKENS,
            output: output_bytes.div_ceil(USUAL_BYTES_PER_TOKEN),
            ..Usage::default()
        }
    }

    /// The tokens of a stream that was cut: the count so far, raised to the text it had delivered.
    pub(crate) fn complete(&self, counted: Option<Usage>, output_bytes: u64) -> Usage {
        let guess = self.guess(output_bytes);
        let counted = counted.map(|usage| with_zeros_guessed(usage, &guess));
        counted.map_or(guess, |usage| Usage { output: usage.output.max(guess.output), ..usage })
    }
}

fn with_zeros_guessed(counted: Usage, guess: &Usage) -> Usage {
    let is_read = (counted.input, counted.cached, counted.cache_write) != (0, 0, 0);
    let input = if is_read { counted.input } else { guess.input };
    let output = if counted.output > 0 { counted.output } else { guess.output };
    Usage { input, output, ..counted }
}

/// One rounding, upwards, after all is summed. `None` when it does not fit.
fn cost(prices: &TokenPrices, usage: &Usage, counters: &[(String, u64)]) -> Option<Credits> {
    let hour = usage.cache_write_hour.min(usage.cache_write);
    let parts = [
        (usage.input, prices.input),
        (usage.output, prices.output.unwrap_or(Credits::ZERO)),
        (usage.cached, prices.cached.unwrap_or(prices.input)),
        (usage.cache_write - hour, prices.cache_write()),
        (hour, prices.cache_write_1h()),
    ];
    let sum = parts.iter().try_fold(counters::cost(prices, counters)?, |sum, (tokens, price)| {
        sum.checked_add(i128::from(*tokens).checked_mul(i128::from(price.0))?)
    })?;
    // A count that was guessed may be below a counter that is a part of it.
    rounded(sum.max(0))
}

fn rounded(millionths: i128) -> Option<Credits> {
    i64::try_from(millionths.checked_add(MILLION - 1)? / MILLION).ok().map(Credits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prices(input: i64, output: i64, cached: Option<i64>, cache_write: Option<i64>) -> TokenPrices {
        let (cached, cache_write) = (cached.map(Credits), cache_write.map(Credits));
        let (input, output) = (Credits(input), Some(Credits(output)));
        TokenPrices { input, output, cached, cache_write, ..TokenPrices::default() }
    }

    fn bill(prices: TokenPrices, input_bytes: u64, pictures: u64, max_output_tokens: u64) -> Bill {
        Bill { prices, request: Credits::ZERO, input_bytes, pictures, max_output_tokens }
    }

    #[test]
    fn each_kind_of_token_has_its_price_and_one_rounding() {
        let table = prices(3_000_000, 15_000_000, Some(300_000), Some(3_750_000));
        let check = |input, output, cached, cache_write, expected| {
            let usage = Usage { input, output, cached, cache_write, ..Usage::default() };
            assert_eq!(cost(&table, &usage, &[]), Some(Credits(expected)), "{usage:?}");
        };
        check(0, 0, 0, 0, 0);
        check(1, 0, 0, 0, 3);
        check(0, 1, 0, 0, 15);
        check(0, 0, 1, 0, 1);
        check(0, 0, 10, 0, 3);
        check(1, 1, 1, 1, 23);
        check(1_000_000, 1_000_000, 0, 0, 18_000_000);
        let without = prices(2_000_000, 0, None, None);
        assert_eq!(
            cost(&without, &Usage { cached: 1, cache_write: 1, ..Usage::default() }, &[]),
            Some(Credits(4))
        );
        let huge = Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() };
        assert_eq!(cost(&prices(i64::MAX, i64::MAX, None, None), &huge, &[]), None);
    }

    /// Without it the operator pays the difference between an hour in a cache and five minutes.
    #[test]
    fn an_hour_in_a_cache_has_its_own_price() {
        let usage = Usage { cache_write: 10, cache_write_hour: 4, ..Usage::default() };
        let check = |table: TokenPrices, expected: i64| {
            assert_eq!(cost(&table, &usage, &[]), Some(Credits(expected)), "{table:?}");
        };
        let plain = prices(3_000_000, 0, None, Some(3_750_000));
        check(plain.clone(), 47);
        check(TokenPrices { cache_write_1h: Some(Credits(8_000_000)), ..plain.clone() }, 55);
        check(TokenPrices { cache_write_1h: Some(Credits::ZERO), ..plain.clone() }, 23);
        // By default twice the input, and no less than a write for minutes.
        check(prices(3_000_000, 0, None, None), 42);
        check(prices(3_000_000, 0, None, Some(9_000_000)), 90);
        // More than there is of all writes is a provider's mistake.
        let all = Usage { cache_write_hour: 99, ..usage };
        assert_eq!(cost(&plain, &all, &[]), Some(Credits(60)));
    }

    /// Without it the operator pays for what a provider counts above the hold, or a customer for any number that it sends.
    #[test]
    fn a_count_above_the_hold_costs_what_it_is_unless_it_is_impossible() {
        let bill = bill(prices(1_000_000, 1_000_000, None, None), 0, 0, 0);
        let dear = |output| Usage { output, ..Usage::default() };
        assert_eq!(bill.cost(&dear(50), &[], Credits(49)), Credits(50));
        assert_eq!(bill.cost(&dear(50), &[], Credits(51)), Credits(50));
        assert_eq!(bill.cost(&dear(MAX_COUNT), &[], Credits(51)), Credits(10_000_000));
        assert_eq!(bill.cost(&dear(MAX_COUNT + 1), &[], Credits(51)), Credits(51));
        let endless = Usage { output: u64::MAX, input: u64::MAX, ..Usage::default() };
        assert_eq!(bill.cost(&endless, &[], Credits(7)), Credits(7));
    }

    /// Without it a provider that counts only what it wrote gives its input away.
    #[test]
    fn a_count_of_zero_is_none_where_something_was_read_or_written() {
        let bill = bill(prices(1, 1, None, None), 400, 1, 10);
        let counts = |input, output, cached| Usage { input, output, cached, ..Usage::default() };
        for (counted, output_bytes, expected) in [
            (Some(counts(90, 5, 0)), 41, (counts(90, 5, 0), Count::Told)),
            (Some(counts(0, 5, 90)), 41, (counts(0, 5, 90), Count::Told)),
            (Some(counts(0, 5, 0)), 41, (counts(1700, 5, 0), Count::Estimated)),
            (Some(counts(90, 0, 0)), 41, (counts(90, 11, 0), Count::Estimated)),
            (Some(counts(90, 0, 0)), 0, (counts(90, 0, 0), Count::Told)),
            (Some(counts(0, 0, 0)), 41, (counts(1700, 11, 0), Count::Estimated)),
            (Some(counts(0, 0, 0)), 0, (counts(0, 0, 0), Count::Told)),
            (None, 0, (counts(1700, 0, 0), Count::Estimated)),
        ] {
            assert_eq!(bill.counted(counted, output_bytes), expected, "{counted:?}");
        }
        assert_eq!(bill.complete(Some(counts(0, 5, 0)), 41), counts(1700, 11, 0));
    }

    /// Without it sound is billed as text, or beside it once more.
    #[test]
    fn a_counter_with_a_price_is_billed_by_it() {
        let counters = BTreeMap::from([
            ("input-audio".to_owned(), Credits(40)),
            ("searches".to_owned(), Credits(5_000_000)),
        ]);
        let table = TokenPrices { counters, ..prices(3_000_000, 0, None, None) };
        let usage = Usage { input: 10, ..Usage::default() };
        let told = [("input-audio".to_owned(), 4), ("searches".to_owned(), 2), ("pages".to_owned(), 7)];
        // Six tokens of text, four of sound for next to nothing, and two searches.
        assert_eq!(cost(&table, &usage, &told), Some(Credits(29)));
        assert_eq!(cost(&table, &usage, &[]), Some(Credits(30)));
        let bill = bill(
            TokenPrices { counters: [("input-audio".to_owned(), Credits(9_000_000))].into(), ..table },
            0,
            0,
            0,
        );
        assert_eq!(bill.parts().unwrap()[0], (FRAME_TOKENS, Credits(9_000_000), Credits(3_600)));
        assert_eq!(bill.cost(&usage, &[("searches".to_owned(), MAX_COUNT + 1)], Credits(7)), Credits(7));
        // What goes into a cache is held for at its own price, also where plain writes have none.
        let counters = BTreeMap::from([("cache-write-audio".to_owned(), Credits(5_000_000))]);
        let bill = Bill { prices: TokenPrices { counters, ..prices(3_000_000, 0, None, None) }, ..bill };
        assert_eq!(bill.parts().unwrap()[0].1, Credits(5_000_000));
    }

    #[test]
    fn a_cut_stream_costs_what_it_delivered() {
        let bill = bill(prices(1, 1, None, None), 400, 1, 10);
        let counted = Usage { input: 90, output: 1, cached: 5, cache_write: 0, ..Usage::default() };
        assert_eq!(bill.complete(Some(counted), 41), Usage { output: 11, ..counted });
        assert_eq!(bill.complete(Some(Usage { output: 40, ..counted }), 41), Usage { output: 40, ..counted });
        assert_eq!(bill.complete(None, 41), Usage { input: 1700, output: 11, ..Usage::default() });
    }

    #[test]
    fn a_rate_counts_cached_input_by_its_price() {
        let check = |input, cached, expected| {
            let usage = Usage { input: 10, output: 20, cached: 101, cache_write: 5, ..Usage::default() };
            let bill = bill(prices(input, 1, cached, None), 400, 1, 30);
            assert_eq!(bill.rated_tokens(&usage), expected);
            assert_eq!(bill.estimated_tokens(), 1730);
        };
        check(100, Some(10), 46);
        check(100, Some(0), 35);
        check(100, None, 136);
        check(100, Some(200), 136);
        check(0, Some(0), 136);
        let bill = bill(prices(3, 1, Some(1), None), 0, 0, 0);
        let most =
            Usage { input: u64::MAX, output: u64::MAX, cached: u64::MAX, cache_write: 1, ..Usage::default() };
        assert_eq!(bill.rated_tokens(&most), u64::MAX);
    }

    proptest! {
        #[test]
        fn the_hold_covers_every_guess(
            input_bytes in 0..40_000_000_u64, pictures in 0..64_u64, max_output in 0..10_000_000_u64, output_bytes in 0..10_000_000_u64,
            input in 0..100_000_000_i64, output in 0..100_000_000_i64, write in proptest::option::of(0..100_000_000_i64),
        ) {
            let bill = bill(prices(input, output, None, write), input_bytes, pictures, max_output);
            let guess = bill.guess(output_bytes.min(max_output * USUAL_BYTES_PER_TOKEN));
            let held = bill.max_cost().unwrap();
            prop_assert!(cost(&bill.prices, &guess, &[]).unwrap() <= held);
        }
    }
}
