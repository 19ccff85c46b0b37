//! Splits a stream of bytes into writes: at any byte, also inside a character and between CR and LF.

use bytes::Bytes;

use crate::text::answer::seed::Seed;
use crate::text::markers::{Faults, Marker};

/// How bytes are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Split {
    /// Pieces of seeded lengths: some of a few bytes, some of several events.
    Anywhere,
    /// One byte a piece.
    Bytes,
    /// Not at all.
    Whole,
}

impl Split {
    pub(crate) fn of(faults: &Faults) -> Self {
        if faults.has(Marker::Bytes) {
            Self::Bytes
        } else if faults.has(Marker::OneWrite) {
            Self::Whole
        } else {
            Self::Anywhere
        }
    }

    /// The pieces, none empty, in order.
    pub(crate) fn cut(self, mut bytes: Bytes, seed: &mut Seed) -> Vec<Bytes> {
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            let wanted = match self {
                Self::Anywhere => match seed.below(4) {
                    0 => 1 + seed.below(4),
                    1 | 2 => 1 + seed.below(90),
                    _ => 1 + seed.below(900),
                },
                Self::Bytes => 1,
                Self::Whole => bytes.len(),
            };
            pieces.push(bytes.split_to(wanted.min(bytes.len())));
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn crosses(pieces: &[Bytes], splits: impl Fn(u8, u8) -> bool) -> bool {
        pieces.windows(2).any(|pair| splits(pair[0][pair[0].len() - 1], pair[1][0]))
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_bytes(bytes in prop::collection::vec(any::<u8>(), 0..4000), number in any::<u64>()) {
            let bytes = Bytes::from(bytes);
            let seed = Seed::of(&number.to_le_bytes());
            for split in [Split::Anywhere, Split::Bytes, Split::Whole] {
                let pieces = split.cut(bytes.clone(), &mut seed.clone());
                prop_assert!(pieces.iter().all(|piece| !piece.is_empty()));
                prop_assert_eq!(pieces.concat(), &bytes[..]);
                prop_assert_eq!(pieces, split.cut(bytes.clone(), &mut seed.clone()));
            }
        }
    }

    #[test]
    fn splits_inside_characters_and_line_ends() {
        let text = Bytes::from("data: \u{1f30a}\u{706f}\r\n\r\n".repeat(400));
        let pieces = Split::Anywhere.cut(text, &mut Seed::of(b"kite"));
        assert!(crosses(&pieces, |_, next| next & 0xc0 == 0x80), "inside a character");
        assert!(crosses(&pieces, |last, next| (last, next) == (b'\r', b'\n')), "between CR and LF");
        assert!(pieces.iter().any(|piece| piece.windows(4).filter(|it| it == b"\r\n\r\n").count() > 1));
    }
}
