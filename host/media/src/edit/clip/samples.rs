//! The samples of a track, one by one, and parts of its tables.

use std::iter::repeat_n;
use std::ops::Range;

use mp4_atom::StszSamples;

use crate::edit::clip::tables::{Chunk, Tables};

/// One sample, its times in ticks of its track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) index: u32,
    /// When it is decoded.
    pub(super) decoded: i64,
    /// When it is shown, on the time line of decoding.
    pub(super) shown: i64,
    pub(super) duration: u32,
    pub(super) is_sync: bool,
}

/// A chunk, or the part of one that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) count: u32,
    pub(super) description: u32,
    pub(super) bytes: Range<u64>,
}

impl Tables {
    /// Every sample in the order of decoding. Times stay below 2^53 ticks, since samples are few.
    pub(super) fn samples(&self) -> impl Iterator<Item = Sample> {
        let durations =
            self.durations.iter().flat_map(|run| repeat_n(run.sample_delta, run.sample_count as usize));
        let offsets = self.offsets.iter().flatten();
        let offsets = offsets.flat_map(|run| repeat_n(run.sample_offset, run.sample_count as usize));
        let offsets = offsets.chain(std::iter::repeat(0));
        let mut sync = self.sync.as_ref().map(|numbers| numbers.iter().peekable());
        let mut decoded = 0;
        (0..self.count).zip(durations).zip(offsets).map(move |((index, duration), offset)| {
            let is_sync =
                sync.as_mut().is_none_or(|numbers| numbers.next_if_eq(&&index.saturating_add(1)).is_some());
            let sample = Sample { index, decoded, shown: decoded + offset, duration, is_sync };
            decoded += i64::from(duration);
            sample
        })
    }

    /// How many bytes these samples take.
    fn bytes(&self, part: Range<u32>) -> u64 {
        match &self.sizes {
            StszSamples::Identical { size, .. } => u64::from(part.end - part.start) * u64::from(*size),
            StszSamples::Different { sizes } => {
                let sizes = sizes.get(part.start as usize..part.end as usize).unwrap_or_default();
                sizes.iter().copied().map(u64::from).sum()
            }
        }
    }

    /// The sizes of these samples.
    pub(super) fn sizes(&self, part: &Range<u32>) -> StszSamples {
        match &self.sizes {
            StszSamples::Identical { size, .. } => {
                StszSamples::Identical { count: part.end - part.start, size: *size }
            }
            StszSamples::Different { sizes } => {
                let sizes = sizes.get(part.start as usize..part.end as usize).unwrap_or_default();
                StszSamples::Different { sizes: sizes.to_vec() }
            }
        }
    }

    /// Where these samples lie in a file of this length, chunk by chunk.
    pub(super) fn pieces(&self, part: &Range<u32>, length: u64) -> Result<Vec<Piece>, String> {
        let overlaps = |chunk: &&Chunk| chunk.first < part.end && chunk.first + chunk.count > part.start;
        let piece = |chunk: &Chunk| {
            let kept = chunk.first.max(part.start)..(chunk.first + chunk.count).min(part.end);
            let start = chunk.offset.checked_add(self.bytes(chunk.first..kept.start))?;
            let end = start.checked_add(self.bytes(kept.clone())).filter(|end| *end <= length)?;
            Some(Piece { count: kept.end - kept.start, description: chunk.description, bytes: start..end })
        };
        let pieces: Option<_> = self.chunks.iter().filter(overlaps).map(piece).collect();
        pieces.ok_or_else(|| format!("its samples lie beyond the file's {length} bytes"))
    }
}

/// The part of a run-length table that holds for these samples.
pub(super) fn cut_runs<T>(
    runs: impl Iterator<Item = (u32, T)>,
    part: Range<u32>,
) -> impl Iterator<Item = (u32, T)> {
    let (start, end) = (u64::from(part.start), u64::from(part.end));
    let mut first = 0_u64;
    runs.map_while(move |(count, value)| {
        let run = first..first + u64::from(count);
        first = run.end;
        let kept = run.end.min(end).saturating_sub(run.start.max(start));
        (run.start < end).then(|| (u32::try_from(kept).unwrap_or(u32::MAX), value))
    })
    .filter(|(count, _)| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_cut_at_both_ends() {
        let runs = [(3, 'a'), (0, 'b'), (2, 'c'), (4, 'd')];
        let all: Vec<char> =
            runs.iter().flat_map(|&(count, value)| repeat_n(value, count as usize)).collect();
        for start in 0..=9 {
            for end in start..=12 {
                let cut = cut_runs(runs.into_iter(), start..end);
                let cut: Vec<char> = cut.flat_map(|(count, value)| repeat_n(value, count as usize)).collect();
                let expected: Vec<char> =
                    all.iter().take(end as usize).skip(start as usize).copied().collect();
                assert_eq!(cut, expected, "{start}..{end}");
            }
        }
        let huge = [(u32::MAX, 1), (u32::MAX, 2)];
        assert_eq!(cut_runs(huge.into_iter(), 7..9).collect::<Vec<_>>(), [(2, 1)]);
    }
}
