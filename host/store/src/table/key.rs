//! Keys as bytes, part after part, so that the order of the bytes is that of the keys.
//!
//! A number has its highest byte first. A text ends with a zero, so that a shorter one comes before all that begin with it, and none
//! runs into the part that follows; the bytes zero and one within it become two bytes, of which the first is one.

/// What a key is, or a part of one.
pub(crate) trait TableKey: Sized {
    /// The same, borrowed.
    type Of<'a>: Copy;

    /// Adds its bytes.
    fn write(key: Self::Of<'_>, bytes: &mut Vec<u8>);

    /// Takes it off the front of the bytes, unless they do not begin with one.
    fn read(bytes: &mut &[u8]) -> Option<Self>;
}

/// The bytes of a key.
pub(super) fn encoded<K: TableKey>(key: K::Of<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    K::write(key, &mut bytes);
    bytes
}

impl<const N: usize> TableKey for [u8; N] {
    type Of<'a> = Self;

    fn write(key: Self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&key);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (taken, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(*taken)
    }
}

impl TableKey for String {
    type Of<'a> = &'a str;

    fn write(key: &str, bytes: &mut Vec<u8>) {
        for byte in key.bytes() {
            if byte < 2 {
                bytes.extend([1, byte + 1]);
            } else {
                bytes.push(byte);
            }
        }
        bytes.push(0);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == 0)?;
        let (text, rest) = bytes.split_at(end);
        *bytes = &rest[1..];
        let (mut text, mut read) = (text.iter(), Vec::with_capacity(end));
        while let Some(byte) = text.next() {
            read.push(match byte {
                1 => text.next().filter(|byte| **byte <= 2)? - 1,
                byte => *byte,
            });
        }
        Self::from_utf8(read).ok()
    }
}

macro_rules! numbers {
    ($($number:ident)+) => {$(
        impl TableKey for $number {
            type Of<'a> = Self;

            fn write(key: Self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&key.to_be_bytes());
            }

            fn read(bytes: &mut &[u8]) -> Option<Self> {
                TableKey::read(bytes).map(Self::from_be_bytes)
            }
        }
    )+};
}

numbers!(u8 u32 u64 u128);

macro_rules! parts {
    ($(($($part:ident $place:tt),+))+) => {$(
        impl<$($part: TableKey),+> TableKey for ($($part,)+) {
            type Of<'a> = ($($part::Of<'a>,)+);

            fn write(key: Self::Of<'_>, bytes: &mut Vec<u8>) {
                $($part::write(key.$place, bytes);)+
            }

            fn read(bytes: &mut &[u8]) -> Option<Self> {
                Some(($($part::read(bytes)?,)+))
            }
        }
    )+};
}

parts! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
}
