//! A number of a JSON text by its digits, so that no price passes through a float.

use gatehouse_model::Credits;

/// Powers of ten that an `i128` has.
const MAX_POWER: u32 = 38;

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
        let (micro, is_rounded) = match u32::try_from(exponent) {
            _ if micro == 0 => (0, false),
            Ok(power) if power > MAX_POWER => return None,
            Ok(power) => (micro.checked_mul(10_i128.pow(power))?, false),
            Err(_) => match exponent.unsigned_abs() {
                power if power > MAX_POWER => (1, true),
                power => {
                    let divisor = 10_i128.pow(power);
                    let is_rounded = micro % divisor != 0;
                    (micro / divisor + i128::from(is_rounded), is_rounded)
                }
            },
        };
        Some(Converted { credits: Credits(i64::try_from(micro).ok()?), is_rounded })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
