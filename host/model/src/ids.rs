//! Identifiers: their form, and nothing about what they name.
//!
//! Most are 128 bits, 48 of them the millisecond in which it was made and 80 random, written as 26 characters of
//! Crockford base32 behind a prefix (spec/decisions.md, "Task id"). Time order keeps the store fast, the
//! random part keeps them unguessable; neither replaces the owner check.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ulid::Ulid;

use crate::time::UnixMs;

/// The only source of randomness of the gateway.
pub trait Seed: Send + Sync + 'static {
    /// Fills `into` with unpredictable bytes.
    fn fill(&self, into: &mut [u8]);

    /// A random number below 2^64.
    fn next_u64(&self) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// A random number in `0.0 .. 1.0`.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exactly what a double holds")]
    fn unit(&self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// An identifier that does not have the form of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {prefix}<26 characters of Crockford base32>")]
pub struct BrokenId {
    /// The prefix the kind demands.
    pub prefix: &'static str,
}

macro_rules! time_ordered_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            /// What every identifier of this kind begins with.
            pub const PREFIX: &'static str = $prefix;

            /// A new identifier made at `now`.
            pub fn new(now: UnixMs, seed: &dyn Seed) -> Self {
                let mut random = [0; 16];
                seed.fill(&mut random);
                Self(Ulid::from_parts(now.0, u128::from_le_bytes(random)).0)
            }

            /// The raw 128 bits; their big-endian bytes sort by time.
            #[must_use]
            pub const fn bits(self) -> u128 {
                self.0
            }

            /// The identifier of these bits.
            #[must_use]
            pub const fn from_bits(bits: u128) -> Self {
                Self(bits)
            }

            /// The millisecond in which it was made.
            #[must_use]
            pub fn timestamp(self) -> UnixMs {
                UnixMs(Ulid(self.0).timestamp_ms())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut text = [0; ulid::ULID_LEN];
                f.write_str($prefix)?;
                f.write_str(Ulid(self.0).array_to_str(&mut text))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = BrokenId;

            /// Accepts exactly what `Display` writes: one spelling, so an id is also a cache key.
            fn from_str(text: &str) -> Result<Self, BrokenId> {
                let broken = BrokenId { prefix: $prefix };
                let tail = text.strip_prefix($prefix).ok_or(broken)?;
                let id = Self(Ulid::from_string(tail).map_err(|_| broken)?.0);
                if id.to_string() == text { Ok(id) } else { Err(broken) }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

time_ordered_id!(
    /// A durable asynchronous job; what clients poll.
    TaskId, "task_"
);
time_ordered_id!(
    /// One HTTP request, in every log line and every answer.
    RequestId, "req_"
);
time_ordered_id!(
    /// Bytes kept for a request.
    BlobId, "blob_"
);
time_ordered_id!(
    /// A result copied into the gateway's own media store.
    MediaId, "m_"
);
time_ordered_id!(
    /// An address of a customer that learns when its tasks end.
    WebhookId, "we_"
);
time_ordered_id!(
    /// One event for one webhook; the same on every attempt (`webhook-id`).
    DeliveryId, "msg_"
);

macro_rules! name_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

name_id!(
    /// Who pays. Chosen by the operator.
    CustomerId
);

impl CustomerId {
    /// Whether a customer may be opened under it: it is short, never needs quoting in a shell and moves no cursor.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.@".contains(letter);
        (1..=64).contains(&self.0.len()) && self.0.chars().all(plain)
    }
}

name_id!(
    /// The public part of an API key.
    KeyId
);

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(u8);
    impl Seed for Fixed {
        fn fill(&self, into: &mut [u8]) {
            into.fill(self.0);
        }
    }

    #[test]
    fn an_id_reads_back_from_its_text() {
        let id = TaskId::new(UnixMs(1_767_225_600_123), &Fixed(0xa5));
        assert_eq!(id.to_string().len(), "task_".len() + 26);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.timestamp(), UnixMs(1_767_225_600_123));
    }

    #[test]
    fn an_id_has_one_spelling() {
        let text = TaskId::new(UnixMs(1_767_225_600_123), &Fixed(0xa5)).to_string();
        for other in [text.to_lowercase(), text.replace("task_", "req_"), format!("{text}0"), "task_".into()]
        {
            assert!(other.parse::<TaskId>().is_err(), "{other}");
        }
        assert!("task_ILOU0000000000000000000000".parse::<TaskId>().is_err());
    }

    #[test]
    fn later_ids_sort_later() {
        let early = TaskId::new(UnixMs(1), &Fixed(0xff));
        let late = TaskId::new(UnixMs(2), &Fixed(0));
        assert!(early < late && early.bits().to_be_bytes() < late.bits().to_be_bytes());
    }

    #[test]
    fn a_unit_stays_below_one() {
        assert!(Fixed(0xff).unit() < 1.0 && Fixed(0).unit() == 0.0);
    }
}
