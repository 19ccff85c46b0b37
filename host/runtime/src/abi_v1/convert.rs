//! Conversion between types of the contract and the model's types: the trait, and what all types share. `types` has one
//! row for each type that has the same shape on both sides.

use bytes::Bytes;
use gatehouse_model::{Json, UnixMs};

/// A value as the other side's type.
pub(super) trait Convert<T> {
    fn convert(self) -> T;
}

impl<T: Convert<U>, U> Convert<Vec<U>> for Vec<T> {
    fn convert(self) -> Vec<U> {
        self.into_iter().map(Convert::convert).collect()
    }
}

impl<T: Convert<U>, U> Convert<Option<U>> for Option<T> {
    fn convert(self) -> Option<U> {
        self.map(Convert::convert)
    }
}

impl<T: Convert<U>, U, E: Convert<F>, F> Convert<Result<U, F>> for Result<T, E> {
    fn convert(self) -> Result<U, F> {
        self.map(Convert::convert).map_err(Convert::convert)
    }
}

/// Types of which both sides have their own, each with a conversion in `std`'s sense.
macro_rules! primitives {
    ($($from:ty => $to:ty),+ $(,)?) => {$(
        impl Convert<$to> for $from {
            fn convert(self) -> $to {
                self.into()
            }
        }
    )+};
}

primitives! {
    String => String,
    String => Json,
    Json => String,
    String => Bytes,
    Vec<u8> => Bytes,
    Bytes => Vec<u8>,
}

impl Convert<UnixMs> for u64 {
    fn convert(self) -> UnixMs {
        UnixMs(self)
    }
}

impl Convert<u64> for UnixMs {
    fn convert(self) -> u64 {
        self.0
    }
}

/// Records with the same fields: those in brackets have the same types, the others are converted.
macro_rules! records {
    ($($from:path => $to:path { $([$($same:ident),+])? $($other:ident),* })+) => {$(
        impl Convert<$to> for $from {
            fn convert(self) -> $to {
                type To = $to;
                let Self { $($($same,)+)? $($other,)* } = self;
                To { $($($same,)+)? $($other: $other.convert(),)* }
            }
        }
    )+};
}

/// Variants with the same cases and converted values.
macro_rules! variants {
    ($($from:path => $to:path { $($case:ident $(($value:ident))?),+ })+) => {$(
        impl Convert<$to> for $from {
            fn convert(self) -> $to {
                type To = $to;
                match self {
                    $(Self::$case $(($value))? => To::$case $(($value.convert()))?,)+
                }
            }
        }
    )+};
}

pub(super) use {records, variants};
