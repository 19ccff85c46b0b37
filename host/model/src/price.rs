//! Prices of units: credits for 1, 1,000 or 1,000,000 of them, and the one rule by which an amount is rounded.

use serde::de::{Error as _, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::credits::Credits;

/// For how many units a price may be.
pub const PER: [u32; 3] = [1, 1_000, 1_000_000];

/// What so many units cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Price {
    /// Of `per` units.
    pub credits: Credits,
    /// One of [`PER`].
    pub per: u32,
}

impl Price {
    /// Of one unit.
    #[must_use]
    pub fn each(credits: Credits) -> Self {
        Self { credits, per: 1 }
    }

    /// What `quantity` units cost, rounded up to a micro-credit; `None` where it does not fit.
    #[must_use]
    pub fn times(self, quantity: u64) -> Option<Credits> {
        let exact = i128::from(self.credits.0).checked_mul(i128::from(quantity))?;
        let per = i128::from(self.per.max(1));
        let up = i128::from(exact.rem_euclid(per) > 0);
        i64::try_from(exact.div_euclid(per).checked_add(up)?).ok().map(Credits)
    }
}

/// A price of one unit is written as the amount alone, as rows of releases without other prices have it.
impl Serialize for Price {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Whole {
            credits: Credits,
            per: u32,
        }
        match *self {
            Self { credits, per: 1 } => credits.serialize(serializer),
            Self { credits, per } => Whole { credits, per }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Price {
    /// An amount is that of one unit; a table says of how many.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Whole {
            credits: Credits,
            #[serde(default = "one", deserialize_with = "per")]
            per: u32,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Price;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(
                    "credits as text, such as \"4\" or \"0.25\", or { credits = \"0.25\", per = 1000 }",
                )
            }
            fn visit_i64<E>(self, micro: i64) -> Result<Price, E> {
                Ok(Price::each(Credits(micro)))
            }
            fn visit_u64<E: serde::de::Error>(self, micro: u64) -> Result<Price, E> {
                i64::try_from(micro).map(|micro| Price::each(Credits(micro))).map_err(E::custom)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Price, E> {
                text.parse().map(Price::each).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Price, A::Error> {
                let Whole { credits, per } = Whole::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Price { credits, per })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

fn one() -> u32 {
    1
}

fn per<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let per = i64::deserialize(deserializer)?;
    let known = PER.into_iter().find(|known| i64::from(*known) == per);
    known.ok_or_else(|| D::Error::unknown_variant(&per.to_string(), &["1", "1000", "1000000"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Without it a price per thousand loses the rest of each line, or charges a whole thousand for one unit.
    #[test]
    fn a_line_is_rounded_up_once() {
        for (credits, per, quantity, expected) in [
            (5, 1, 3, Some(15)),
            (5, 1, 0, Some(0)),
            (2_000, 1_000, 1, Some(2)),
            (2_000, 1_000, 1_500, Some(3_000)),
            (1, 1_000, 1, Some(1)),
            (1, 1_000, 1_000, Some(1)),
            (1, 1_000, 1_001, Some(2)),
            (7, 1_000_000, 3, Some(1)),
            (i64::MAX, 1_000_000, 1_000_000, Some(i64::MAX)),
            (i64::MAX, 1, 2, None),
            (i64::MAX, 1_000_000, u64::MAX, None),
            (0, 1, u64::MAX, Some(0)),
        ] {
            let price = Price { credits: Credits(credits), per };
            assert_eq!(price.times(quantity), expected.map(Credits), "{quantity} at {credits} per {per}");
        }
    }

    /// Without it rows and configurations of before lose their prices.
    #[test]
    fn an_amount_alone_is_the_price_of_one() {
        let read = |value: serde_json::Value| serde_json::from_value::<Price>(value);
        assert_eq!(read(json!(20)).unwrap(), Price::each(Credits(20)));
        assert_eq!(read(json!("0.25")).unwrap(), Price::each(Credits(250_000)));
        assert_eq!(read(json!({"credits": "0.25"})).unwrap(), Price::each(Credits(250_000)));
        let thousand = Price { credits: Credits(2_000), per: 1_000 };
        assert_eq!(read(json!({"credits": "0.002", "per": 1000})).unwrap(), thousand);
        for price in [Price::each(Credits(20)), thousand] {
            assert_eq!(read(serde_json::to_value(price).unwrap()).unwrap(), price);
        }
        assert_eq!(serde_json::to_value(Price::each(Credits(20))).unwrap(), json!(20));
        let error = read(json!({"credits": "1", "per": 500})).unwrap_err().to_string();
        assert_eq!(error, "unknown variant `500`, expected one of `1`, `1000`, `1000000`");
    }
}
