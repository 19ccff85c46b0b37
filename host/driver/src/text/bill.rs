//! Tokens into credits, and guesses where nobody counted. Pure, checked, rounded up once at the end.

use gatehouse_model::{Credits, Prepared, Usage};
use serde::Deserialize;

/// Credits for a million tokens of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenPrices {
    /// Read.
    pub input: Credits,
    /// Written.
    pub output: Credits,
    /// Read from a cache; absent: as `input`.
    pub cached: Option<Credits>,
    /// Read and put into a cache; absent: as `input`.
    pub cache_write: Option<Credits>,
}

/// What the host charges for one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bill {
    prices: TokenPrices,
    read: u64,
    pictures: u64,
    most: u64,
}

const MILLION: i128 = 1_000_000;
/// The least bytes of text a token has, and the bytes it usually has: two bounds of the input.
const FEWEST_BYTES: u64 = 2;
const USUAL_BYTES: u64 = 4;
/// Tokens a provider adds for roles, tools and frames.
const FRAME: u64 = 400;
/// Tokens of the largest picture, and of a usual one.
const LARGE_PICTURE: u64 = 5_000;
const USUAL_PICTURE: u64 = 1_600;

impl Bill {
    pub(crate) fn new(prices: TokenPrices, prepared: &Prepared) -> Self {
        let (read, pictures, most) =
            (prepared.input_bytes.into(), prepared.pictures.into(), prepared.max_output_tokens.into());
        Self { prices, read, pictures, most }
    }

    /// What to hold: more than the request can cost as far as anybody can tell. `None` when it does not fit.
    pub(crate) fn most(&self) -> Option<Credits> {
        let read = self.read / FEWEST_BYTES + FRAME + self.pictures * LARGE_PICTURE;
        let dearest = |usage: fn(u64) -> Usage| cost(&self.prices, &usage(read));
        let input = dearest(|tokens| Usage { input: tokens, ..Usage::default() })?;
        let cached = dearest(|tokens| Usage { cached: tokens, ..Usage::default() })?;
        let written = dearest(|tokens| Usage { cache_write: tokens, ..Usage::default() })?;
        let output = cost(&self.prices, &Usage { output: self.most, ..Usage::default() })?;
        input.max(cached).max(written).checked_add(output)
    }

    /// What the counted tokens cost, at most `held`. `None` when it does not fit.
    pub(crate) fn counted(&self, usage: &Usage, held: Credits) -> Credits {
        // A provider that counts more than was agreed charges the operator, not the customer.
        cost(&self.prices, usage).map_or(held, |cost| cost.min(held))
    }

    /// The tokens of an answer nobody counted: `written` bytes of text.
    pub(crate) fn guess(&self, written: u64) -> Usage {
        Usage {
            input: self.read / USUAL_BYTES + self.pictures * USUAL_PICTURE,
            output: written.div_ceil(USUAL_BYTES),
            ..Usage::default()
        }
    }

    /// The tokens of a stream that was cut: what was counted before, but for the text it had delivered.
    pub(crate) fn complete(&self, counted: Option<Usage>, written: u64) -> Usage {
        let guess = self.guess(written);
        counted.map_or(guess, |usage| Usage { output: usage.output.max(guess.output), ..usage })
    }
}

/// One rounding, upwards, after all is summed. `None` when it does not fit.
fn cost(prices: &TokenPrices, usage: &Usage) -> Option<Credits> {
    let parts = [
        (usage.input, prices.input),
        (usage.output, prices.output),
        (usage.cached, prices.cached.unwrap_or(prices.input)),
        (usage.cache_write, prices.cache_write.unwrap_or(prices.input)),
    ];
    let sum = parts.iter().try_fold(0_i128, |sum, (tokens, price)| {
        sum.checked_add(i128::from(*tokens).checked_mul(i128::from(price.0))?)
    })?;
    let rounded = sum.checked_add(MILLION - 1)? / MILLION;
    i64::try_from(rounded).ok().map(Credits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prices(input: i64, output: i64, cached: Option<i64>, cache_write: Option<i64>) -> TokenPrices {
        let (cached, cache_write) = (cached.map(Credits), cache_write.map(Credits));
        TokenPrices { input: Credits(input), output: Credits(output), cached, cache_write }
    }

    fn bill(prices: TokenPrices, read: u64, pictures: u64, most: u64) -> Bill {
        Bill { prices, read, pictures, most }
    }

    #[test]
    fn each_kind_of_token_has_its_price_and_one_rounding() {
        let table = prices(3_000_000, 15_000_000, Some(300_000), Some(3_750_000));
        let check = |input, output, cached, cache_write, expected| {
            let usage = Usage { input, output, cached, cache_write };
            assert_eq!(cost(&table, &usage), Some(Credits(expected)), "{usage:?}");
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
            cost(&without, &Usage { cached: 1, cache_write: 1, ..Usage::default() }),
            Some(Credits(4))
        );
        let huge = Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() };
        assert_eq!(cost(&prices(i64::MAX, i64::MAX, None, None), &huge), None);
    }

    #[test]
    fn an_overcharge_is_the_operators() {
        let bill = bill(prices(1_000_000, 1_000_000, None, None), 0, 0, 0);
        let dear = Usage { output: 50, ..Usage::default() };
        assert_eq!(bill.counted(&dear, Credits(49)), Credits(49));
        assert_eq!(bill.counted(&dear, Credits(51)), Credits(50));
        let endless = Usage { output: u64::MAX, input: u64::MAX, ..Usage::default() };
        assert_eq!(bill.counted(&endless, Credits(7)), Credits(7));
    }

    #[test]
    fn a_cut_stream_costs_what_it_delivered() {
        let bill = bill(prices(1, 1, None, None), 400, 1, 10);
        let begun = Usage { input: 90, output: 1, cached: 5, cache_write: 0 };
        assert_eq!(bill.complete(Some(begun), 41), Usage { output: 11, ..begun });
        assert_eq!(bill.complete(Some(Usage { output: 40, ..begun }), 41), Usage { output: 40, ..begun });
        assert_eq!(bill.complete(None, 41), Usage { input: 1700, output: 11, ..Usage::default() });
    }

    proptest! {
        #[test]
        fn the_hold_covers_every_guess(
            read in 0..40_000_000_u64, pictures in 0..64_u64, most in 0..10_000_000_u64, written in 0..10_000_000_u64,
            input in 0..100_000_000_i64, output in 0..100_000_000_i64, write in proptest::option::of(0..100_000_000_i64),
        ) {
            let bill = bill(prices(input, output, None, write), read, pictures, most);
            let guess = bill.guess(written.min(most * USUAL_BYTES));
            let held = bill.most().unwrap();
            prop_assert!(cost(&bill.prices, &guess).unwrap() <= held);
        }
    }
}
