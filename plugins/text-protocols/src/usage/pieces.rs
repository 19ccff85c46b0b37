//! Counts in every chunk of a stream. By the protocol each is that of all so far; some servers count in each chunk its own piece
//! alone, and the greatest of those is next to nothing.

/// More bytes than the tokens of any text have on average. Where a server tells the whole count in each chunk, as some do, a text of long
/// words has eight, and must not cost that many times more.
const MOST_BYTES_PER_TOKEN: u64 = 32;

/// What chunks with a text have counted as written.
#[derive(Clone, Copy, Debug, Default)]
pub struct PieceCounts {
    pieces: u32,
    sum: u64,
    most: u64,
    last: u64,
    rises: bool,
    falls: bool,
}

impl PieceCounts {
    /// The count of the next one.
    pub fn add(&mut self, count: u64) {
        self.rises |= self.pieces > 0 && count > self.last;
        self.falls |= self.pieces > 0 && count < self.last;
        self.pieces = self.pieces.saturating_add(1);
        self.sum = self.sum.saturating_add(count);
        self.most = self.most.max(count);
        self.last = count;
    }

    /// All of them, where each is of its own piece: a count of all so far never falls, and grows with the text. `written` are the
    /// bytes of the text, which has no more tokens than those.
    #[must_use]
    pub fn sum(&self, written: u64) -> Option<u64> {
        let is_too_little = !self.rises && self.most < written / MOST_BYTES_PER_TOKEN;
        let are_own = self.pieces > 1 && (self.falls || is_too_little);
        (are_own && self.sum <= written).then_some(self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it an answer of a thousand tokens costs one, or one that is told again in each chunk costs a hundred.
    #[test]
    fn counts_of_pieces_are_told_from_counts_of_all_so_far() {
        let (many, ones, long) = ([300; 50], [1; 20], [12; 10]);
        for (counts, written, expected) in [
            (&ones[..], 80, Some(20)),
            (&[3, 2, 4], 36, Some(9)),
            // Of all so far, also where a chunk of it was cut in two.
            (&[1, 2, 3, 4], 16, None),
            (&[10, 10, 20, 20], 80, None),
            // The whole count in each chunk, or once.
            (&many, 1200, None),
            (&many, 1500, None),
            (&long, 120, None),
            (&[2, 2], 27, None),
            (&[20], 100, None),
            (&[], 100, None),
            // One that falls once: the sum would be more than there is.
            (&[40, 80, 120, 0], 200, None),
        ] {
            let mut pieces = PieceCounts::default();
            counts.iter().for_each(|count| pieces.add(*count));
            assert_eq!(pieces.sum(written), expected, "{counts:?}");
        }
    }
}
