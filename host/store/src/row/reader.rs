//! Reads MessagePack value by value: numbers and texts whole, of a list or a map only its length.
//!
//! Knows nothing of types; `deserialize` asks it for what a type expects.

use std::fmt;

use rmp::Marker;
use serde::de::{Error as _, Expected, Unexpected};

/// Values within values, at most; a row nests about ten deep.
const MAX_DEPTH: u16 = 256;

/// Why bytes are not the row of a type, for the log.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct RowError(String);

impl RowError {
    fn ends_early() -> Self {
        Self("the row ends early".to_owned())
    }
}

impl serde::de::Error for RowError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// A value, or how many values a list or a map has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Head<'r> {
    Nil,
    Bool(bool),
    Unsigned(u64),
    /// Below zero.
    Signed(i64),
    Float(f64),
    Text(&'r str),
    Bytes(&'r [u8]),
    List(u32),
    /// Pairs.
    Map(u32),
}

impl Head<'_> {
    /// The error where a value of another kind was expected.
    #[cold]
    pub(super) fn instead_of(self, expected: &dyn Expected) -> RowError {
        let found = match self {
            Self::Nil => Unexpected::Unit,
            Self::Bool(value) => Unexpected::Bool(value),
            Self::Unsigned(number) => Unexpected::Unsigned(number),
            Self::Signed(number) => Unexpected::Signed(number),
            Self::Float(number) => Unexpected::Float(number),
            Self::Text(text) => Unexpected::Str(text),
            Self::Bytes(bytes) => Unexpected::Bytes(bytes),
            Self::List(_) => Unexpected::Seq,
            Self::Map(_) => Unexpected::Map,
        };
        RowError::invalid_type(found, expected)
    }
}

/// A place in a row.
#[derive(Debug)]
pub(super) struct Reader<'r> {
    rest: &'r [u8],
    depth: u16,
}

impl<'r> Reader<'r> {
    pub(super) fn new(row: &'r [u8]) -> Self {
        Self { rest: row, depth: 0 }
    }

    /// Nothing may follow a row's value.
    pub(super) fn end(&self) -> Result<(), RowError> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(RowError(format!("{left} bytes follow the row"))),
        }
    }

    /// Takes this marker, if it comes next.
    pub(super) fn take(&mut self, marker: Marker) -> bool {
        let comes = self.rest.first() == Some(&marker.to_u8());
        if comes {
            self.rest = &self.rest[1..];
        }
        comes
    }

    /// The next value; the values of a list or map follow it.
    pub(super) fn head(&mut self) -> Result<Head<'r>, RowError> {
        let [marker] = self.bytes()?;
        Ok(match Marker::from_u8(marker) {
            Marker::Null => Head::Nil,
            Marker::False => Head::Bool(false),
            Marker::True => Head::Bool(true),
            Marker::FixPos(number) => Head::Unsigned(number.into()),
            Marker::U8 => Head::Unsigned(u8::from_be_bytes(self.bytes()?).into()),
            Marker::U16 => Head::Unsigned(u16::from_be_bytes(self.bytes()?).into()),
            Marker::U32 => Head::Unsigned(u32::from_be_bytes(self.bytes()?).into()),
            Marker::U64 => Head::Unsigned(u64::from_be_bytes(self.bytes()?)),
            Marker::FixNeg(number) => signed(number.into()),
            Marker::I8 => signed(i8::from_be_bytes(self.bytes()?).into()),
            Marker::I16 => signed(i16::from_be_bytes(self.bytes()?).into()),
            Marker::I32 => signed(i32::from_be_bytes(self.bytes()?).into()),
            Marker::I64 => signed(i64::from_be_bytes(self.bytes()?)),
            Marker::F32 => Head::Float(f32::from_be_bytes(self.bytes()?).into()),
            Marker::F64 => Head::Float(f64::from_be_bytes(self.bytes()?)),
            Marker::FixStr(length) => self.text(length.into())?,
            Marker::Str8 => self.length_of_8().and_then(|length| self.text(length))?,
            Marker::Str16 => self.length_of_16().and_then(|length| self.text(length))?,
            Marker::Str32 => self.length_of_32().and_then(|length| self.text(length))?,
            Marker::Bin8 => self.length_of_8().and_then(|length| self.binary(length))?,
            Marker::Bin16 => self.length_of_16().and_then(|length| self.binary(length))?,
            Marker::Bin32 => self.length_of_32().and_then(|length| self.binary(length))?,
            Marker::FixArray(length) => Head::List(length.into()),
            Marker::Array16 => Head::List(self.length_of_16()?),
            Marker::Array32 => Head::List(self.length_of_32()?),
            Marker::FixMap(length) => Head::Map(length.into()),
            Marker::Map16 => Head::Map(self.length_of_16()?),
            Marker::Map32 => Head::Map(self.length_of_32()?),
            Marker::FixExt1
            | Marker::FixExt2
            | Marker::FixExt4
            | Marker::FixExt8
            | Marker::FixExt16
            | Marker::Ext8
            | Marker::Ext16
            | Marker::Ext32
            | Marker::Reserved => {
                return Err(RowError(format!("a row has no value that begins with {marker:#04x}")));
            }
        })
    }

    /// Passes over the next value with all that is in it.
    pub(super) fn skip(&mut self) -> Result<(), RowError> {
        let mut left = 1_u64;
        while left > 0 {
            left -= 1;
            left += match self.head()? {
                Head::List(values) => u64::from(values),
                Head::Map(pairs) => 2 * u64::from(pairs),
                _ => 0,
            };
        }
        Ok(())
    }

    /// Reads what is within a value.
    pub(super) fn within<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, RowError>,
    ) -> Result<T, RowError> {
        if self.depth == MAX_DEPTH {
            return Err(RowError("the row nests too deep".to_owned()));
        }
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], RowError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(RowError::ends_early)?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn length_of_8(&mut self) -> Result<u32, RowError> {
        Ok(u8::from_be_bytes(self.bytes()?).into())
    }

    fn length_of_16(&mut self) -> Result<u32, RowError> {
        Ok(u16::from_be_bytes(self.bytes()?).into())
    }

    fn length_of_32(&mut self) -> Result<u32, RowError> {
        Ok(u32::from_be_bytes(self.bytes()?))
    }

    fn text(&mut self, length: u32) -> Result<Head<'r>, RowError> {
        let text = str::from_utf8(self.slice(length)?);
        text.map(Head::Text).map_err(|error| RowError(format!("a text is not UTF-8: {error}")))
    }

    fn binary(&mut self, length: u32) -> Result<Head<'r>, RowError> {
        self.slice(length).map(Head::Bytes)
    }

    fn slice(&mut self, length: u32) -> Result<&'r [u8], RowError> {
        let length = usize::try_from(length).map_err(|_| RowError::ends_early())?;
        let (slice, rest) = self.rest.split_at_checked(length).ok_or_else(RowError::ends_early)?;
        self.rest = rest;
        Ok(slice)
    }
}

fn signed(number: i64) -> Head<'static> {
    u64::try_from(number).map_or(Head::Signed(number), Head::Unsigned)
}
