//! Money: integer micro-credits with checked arithmetic.
//!
//! Never a float, never a silent overflow (spec/decisions.md, "Money").

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

/// An amount in micro-credits; 1,000,000 of them make one credit. May be negative in a ledger delta.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Credits(pub i64);

impl Credits {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// Micro-credits in one credit.
    pub const UNIT: i64 = 1_000_000;

    /// The sum, or `None` where it does not fit.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The difference, or `None` where it does not fit.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// The same amount with the sign turned, or `None` at the very end of the range.
    #[must_use]
    pub fn checked_neg(self) -> Option<Self> {
        self.0.checked_neg().map(Self)
    }

    /// Whether it is nothing; rows leave such an amount out.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    /// As a JSON number of whole credits, for people: 4.5 for 4,500,000 micro-credits.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "for display only; the ledger keeps the integer")]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / Self::UNIT as f64
    }
}

impl fmt::Display for Credits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, whole) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        let unit = Self::UNIT.unsigned_abs();
        let fraction = format!("{:06}", whole % unit);
        let fraction = fraction.trim_end_matches('0');
        let dot = if fraction.is_empty() { "" } else { "." };
        write!(f, "{sign}{}{dot}{fraction}", whole / unit)
    }
}

/// Text that is not an amount of credits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected credits with at most six decimals, such as 4 or 0.25, not {0:?}")]
pub struct NotCredits(String);

impl FromStr for Credits {
    type Err = NotCredits;

    fn from_str(text: &str) -> Result<Self, NotCredits> {
        let parse = || {
            let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
            let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
            let only_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
            if !only_digits(whole) || !only_digits(fraction) || fraction.len() > 6 {
                return None;
            }
            let whole: i64 = whole.parse().ok()?;
            let fraction: i64 = format!("{fraction:0<6}").parse().ok()?;
            let micro = whole.checked_mul(Self::UNIT)?.checked_add(fraction)?;
            Some(Self(if negative { -micro } else { micro }))
        };
        parse().ok_or_else(|| NotCredits(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Credits {
    /// Stored rows hold the integer of micro-credits; people's configuration writes credits as text.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Credits;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("credits as text, such as \"4\" or \"0.25\"")
            }
            fn visit_i64<E>(self, micro: i64) -> Result<Credits, E> {
                Ok(Credits(micro))
            }
            fn visit_u64<E: serde::de::Error>(self, micro: u64) -> Result<Credits, E> {
                i64::try_from(micro).map(Credits).map_err(E::custom)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Credits, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_amount_agree() {
        for (text, micro) in
            [("4", 4_000_000), ("0.25", 250_000), ("-1.5", -1_500_000), ("0.000001", 1), ("0", 0)]
        {
            assert_eq!(text.parse(), Ok(Credits(micro)));
            assert_eq!(Credits(micro).to_string(), text);
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", "1.", ".5", "1.0000001", "1e3", "--1", "+1", "9223372036855", "four"] {
            assert!(text.parse::<Credits>().is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_amount_reads_back_from_its_text(micro in -9_000_000_000_000_000_000_i64..9_000_000_000_000_000_000) {
            proptest::prop_assert_eq!(Credits(micro).to_string().parse(), Ok(Credits(micro)));
        }
    }
}
