//! The values of a row as serde's types ask for them.
//!
//! A type says what it expects, and only that is tried: code for every kind of value at every field would be a third of
//! this crate's machine code, and slower.

use rmp::Marker;
use serde::Deserialize as _;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};

use super::reader::{Head, Reader, RowError};

/// Methods for types that are read alike.
macro_rules! alike {
    ($read:ident: $($method:ident)*) => {
        $(fn $method<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, RowError> {
            self.$read(visitor)
        })*
    };
}

impl<'r> Reader<'r> {
    fn integer<V: Visitor<'r>>(&mut self, visitor: V) -> Result<V::Value, RowError> {
        match self.head()? {
            Head::Unsigned(number) => visitor.visit_u64(number),
            Head::Signed(number) => visitor.visit_i64(number),
            other => Err(other.instead_of(&visitor)),
        }
    }

    /// A field that was a whole number once holds whole numbers.
    fn float<V: Visitor<'r>>(&mut self, visitor: V) -> Result<V::Value, RowError> {
        match self.head()? {
            Head::Float(number) => visitor.visit_f64(number),
            Head::Unsigned(number) => visitor.visit_u64(number),
            Head::Signed(number) => visitor.visit_i64(number),
            other => Err(other.instead_of(&visitor)),
        }
    }

    fn string<V: Visitor<'r>>(&mut self, visitor: V) -> Result<V::Value, RowError> {
        match self.head()? {
            Head::Text(text) => visitor.visit_borrowed_str(text),
            other => Err(other.instead_of(&visitor)),
        }
    }

    fn sixteen(&mut self, expected: &dyn Expected) -> Result<[u8; 16], RowError> {
        match self.head()? {
            Head::Bytes(bytes) => bytes.try_into().map_err(|_| Head::Bytes(bytes).instead_of(expected)),
            other => Err(other.instead_of(expected)),
        }
    }

    /// Rows of earlier versions may hold bytes as a list of numbers.
    fn binary_or_list<V: Visitor<'r>>(&mut self, visitor: V) -> Result<V::Value, RowError> {
        match self.head()? {
            Head::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            Head::Text(text) => visitor.visit_borrowed_str(text),
            Head::List(length) => self.list(length, visitor),
            other => Err(other.instead_of(&visitor)),
        }
    }

    fn list<V: Visitor<'r>>(&mut self, length: u32, visitor: V) -> Result<V::Value, RowError> {
        self.within(|reader| {
            let mut values = Values { reader, left: length };
            let value = visitor.visit_seq(&mut values)?;
            values.end()?;
            Ok(value)
        })
    }

    fn map<V: Visitor<'r>>(&mut self, pairs: u32, visitor: V) -> Result<V::Value, RowError> {
        self.within(|reader| {
            let mut values = Values { reader, left: pairs };
            let value = visitor.visit_map(&mut values)?;
            values.end()?;
            Ok(value)
        })
    }

    fn any_list<V: Visitor<'r>>(&mut self, visitor: V) -> Result<V::Value, RowError> {
        match self.head()? {
            Head::List(length) => self.list(length, visitor),
            other => Err(other.instead_of(&visitor)),
        }
    }

    fn any_map<V: Visitor<'r>>(&mut self, visitor: V) -> Result<V::Value, RowError> {
        match self.head()? {
            Head::Map(pairs) => self.map(pairs, visitor),
            other => Err(other.instead_of(&visitor)),
        }
    }
}

impl<'r> Deserializer<'r> for &mut Reader<'r> {
    type Error = RowError;

    /// As the writer: addresses and the like are not spelled out.
    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_any<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, RowError> {
        match self.head()? {
            Head::Nil => visitor.visit_unit(),
            Head::Bool(value) => visitor.visit_bool(value),
            Head::Unsigned(number) => visitor.visit_u64(number),
            Head::Signed(number) => visitor.visit_i64(number),
            Head::Float(number) => visitor.visit_f64(number),
            Head::Text(text) => visitor.visit_borrowed_str(text),
            Head::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            Head::List(length) => self.list(length, visitor),
            Head::Map(pairs) => self.map(pairs, visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, RowError> {
        match self.head()? {
            Head::Bool(value) => visitor.visit_bool(value),
            other => Err(other.instead_of(&visitor)),
        }
    }

    alike!(integer: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64);
    alike!(integer: deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64);
    alike!(float: deserialize_f32 deserialize_f64);
    alike!(string: deserialize_char deserialize_str deserialize_string deserialize_identifier);
    alike!(binary_or_list: deserialize_bytes deserialize_byte_buf);
    alike!(any_list: deserialize_seq);
    alike!(any_map: deserialize_map);

    /// Sixteen bytes, as the writer has them.
    fn deserialize_u128<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, RowError> {
        let bytes = self.sixteen(&visitor)?;
        visitor.visit_u128(u128::from_be_bytes(bytes))
    }

    /// Sixteen bytes, as the writer has them.
    fn deserialize_i128<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, RowError> {
        let bytes = self.sixteen(&visitor)?;
        visitor.visit_i128(i128::from_be_bytes(bytes))
    }

    fn deserialize_option<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, RowError> {
        if self.take(Marker::Null) { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, RowError> {
        match self.head()? {
            Head::Nil => visitor.visit_unit(),
            other => Err(other.instead_of(&visitor)),
        }
    }

    /// The writer makes an empty list of it.
    fn deserialize_unit_struct<V: Visitor<'r>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, RowError> {
        match self.head()? {
            Head::Nil | Head::List(0) => visitor.visit_unit(),
            other => Err(other.instead_of(&visitor)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'r>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, RowError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple<V: Visitor<'r>>(self, _: usize, visitor: V) -> Result<V::Value, RowError> {
        self.any_list(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'r>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, RowError> {
        self.any_list(visitor)
    }

    fn deserialize_struct<V: Visitor<'r>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, RowError> {
        self.any_map(visitor)
    }

    /// A name, or a map of one name to what the variant holds.
    fn deserialize_enum<V: Visitor<'r>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, RowError> {
        let holds = self.take(Marker::FixMap(1));
        self.within(|reader| visitor.visit_enum(Variant { reader, holds }))
    }

    fn deserialize_ignored_any<V: Visitor<'r>>(self, visitor: V) -> Result<V::Value, RowError> {
        self.skip()?;
        visitor.visit_unit()
    }
}

/// The values of a list, or the pairs of a map.
struct Values<'a, 'r> {
    reader: &'a mut Reader<'r>,
    left: u32,
}

impl Values<'_, '_> {
    fn end(self) -> Result<(), RowError> {
        match self.left {
            0 => Ok(()),
            left => Err(RowError::custom(format_args!("{left} values more than expected"))),
        }
    }

    fn size(&self) -> Option<usize> {
        usize::try_from(self.left).ok()
    }
}

impl<'r> SeqAccess<'r> for &mut Values<'_, 'r> {
    type Error = RowError;

    fn next_element_seed<T: DeserializeSeed<'r>>(&mut self, seed: T) -> Result<Option<T::Value>, RowError> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        self.size()
    }
}

impl<'r> MapAccess<'r> for &mut Values<'_, 'r> {
    type Error = RowError;

    fn next_key_seed<K: DeserializeSeed<'r>>(&mut self, seed: K) -> Result<Option<K::Value>, RowError> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'r>>(&mut self, seed: T) -> Result<T::Value, RowError> {
        seed.deserialize(&mut *self.reader)
    }

    fn size_hint(&self) -> Option<usize> {
        self.size()
    }
}

/// A variant, before its name.
struct Variant<'a, 'r> {
    reader: &'a mut Reader<'r>,
    /// Whether a value follows the name.
    holds: bool,
}

impl Variant<'_, '_> {
    fn held(&self) -> Result<(), RowError> {
        if self.holds { Ok(()) } else { Err(RowError::custom("a variant without the value that it holds")) }
    }
}

impl<'r> EnumAccess<'r> for Variant<'_, 'r> {
    type Error = RowError;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'r>>(self, seed: T) -> Result<(T::Value, Self), RowError> {
        let name = seed.deserialize(&mut *self.reader)?;
        Ok((name, self))
    }
}

impl<'r> VariantAccess<'r> for Variant<'_, 'r> {
    type Error = RowError;

    fn unit_variant(self) -> Result<(), RowError> {
        if self.holds { <()>::deserialize(self.reader) } else { Ok(()) }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'r>>(self, seed: T) -> Result<T::Value, RowError> {
        self.held()?;
        seed.deserialize(self.reader)
    }

    fn tuple_variant<V: Visitor<'r>>(self, _: usize, visitor: V) -> Result<V::Value, RowError> {
        self.held()?;
        self.reader.any_list(visitor)
    }

    fn struct_variant<V: Visitor<'r>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, RowError> {
        self.held()?;
        self.reader.any_map(visitor)
    }
}
