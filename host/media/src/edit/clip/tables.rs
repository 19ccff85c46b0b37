//! The sample tables of one track, read and checked against each other.
//!
//! Every count is checked against what is really there before anything is derived from it, so hostile tables cost no
//! more memory than a small multiple of their own bytes.

use mp4_atom::{
    Atom, Co64, Ctts, CttsEntry, Stco, Stsc, StscEntry, Stss, Stsz, StszSamples, Stts, SttsEntry,
};

use crate::probe::mp4::child;

/// Samples of all tracks together: four hours of film. More is refused.
pub(super) const MAX_SAMPLES: u32 = 1_000_000;

/// The tables of one track.
pub(super) struct Tables {
    pub(super) count: u32,
    pub(super) sizes: StszSamples,
    pub(super) durations: Vec<SttsEntry>,
    pub(super) offsets: Option<Vec<CttsEntry>>,
    /// Numbers of sync samples, counted from 1; `None` when every sample is one.
    pub(super) sync: Option<Vec<u32>>,
    pub(super) chunks: Vec<Chunk>,
}

/// Consecutive samples that lie one behind the other in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) first: u32,
    pub(super) count: u32,
    /// Which of the sample descriptions is theirs.
    pub(super) description: u32,
    pub(super) offset: u64,
}

impl Tables {
    /// Reads the tables; at most `most` samples.
    pub(super) fn read(stbl: &[u8], most: u32) -> Result<Self, String> {
        let sizes = required::<Stsz>(stbl)?.samples;
        let count = match &sizes {
            StszSamples::Identical { count, .. } => *count,
            StszSamples::Different { sizes } => u32::try_from(sizes.len()).unwrap_or(u32::MAX),
        };
        if count > most {
            return Err(format!("the film has more than {MAX_SAMPLES} samples"));
        }
        let durations = required::<Stts>(stbl)?.entries;
        covers("stts", durations.iter().map(|entry| entry.sample_count), count)?;
        let offsets = optional::<Ctts>(stbl)?.map(|table| table.entries);
        if let Some(offsets) = &offsets {
            covers("ctts", offsets.iter().map(|entry| entry.sample_count), count)?;
        }
        let sync = optional::<Stss>(stbl)?.map(|table| table.entries);
        if let Some(numbers) = &sync
            && !(numbers.is_sorted_by(|before, after| before < after) && numbers.first() != Some(&0))
        {
            return Err("its stss table is out of order".to_owned());
        }
        let chunks = chunks(&required::<Stsc>(stbl)?.entries, &chunk_offsets(stbl)?, count)?;
        Ok(Self { count, sizes, durations, offsets, sync, chunks })
    }
}

/// The table of this kind, if there is one; bytes behind its entries are ignored.
pub(super) fn optional<T: Atom>(content: &[u8]) -> Result<Option<T>, String> {
    let Some(mut body) = child(content, T::KIND.as_ref()) else { return Ok(None) };
    T::decode_body(&mut body).map(Some).map_err(|error| format!("its {} table is broken: {error}", T::KIND))
}

fn required<T: Atom>(content: &[u8]) -> Result<T, String> {
    optional(content)?.ok_or_else(|| format!("it has no {} table", T::KIND))
}

fn covers(name: &str, counts: impl Iterator<Item = u32>, samples: u32) -> Result<(), String> {
    let covered: u64 = counts.map(u64::from).sum();
    if covered < u64::from(samples) {
        return Err(format!("its {name} table describes {covered} of {samples} samples"));
    }
    Ok(())
}

fn chunk_offsets(stbl: &[u8]) -> Result<Vec<u64>, String> {
    match optional::<Stco>(stbl)? {
        Some(table) => Ok(table.entries.into_iter().map(u64::from).collect()),
        None => required::<Co64>(stbl).map(|table| table.entries),
    }
}

/// The chunks up to the last sample. Runs name the first chunk they hold for, counted from 1.
fn chunks(runs: &[StscEntry], offsets: &[u64], count: u32) -> Result<Vec<Chunk>, String> {
    let starts_at_one = runs.first().is_none_or(|run| run.first_chunk == 1);
    if !starts_at_one || !runs.is_sorted_by(|before, after| before.first_chunk < after.first_chunk) {
        return Err("its stsc table is out of order".to_owned());
    }
    let mut chunks = Vec::new();
    let mut first = 0;
    let mut runs = runs.iter().peekable();
    let mut current = None;
    for (number, &offset) in (1..).zip(offsets) {
        current = runs.next_if(|run| run.first_chunk == number).or(current);
        let Some(run) = current else { break };
        let held = run.samples_per_chunk.min(count - first);
        if held > 0 {
            chunks.push(Chunk { first, count: held, description: run.sample_description_index, offset });
        }
        first += held;
        if first == count {
            break;
        }
    }
    if first < count {
        return Err(format!("its chunks hold {first} of {count} samples"));
    }
    Ok(chunks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(first_chunk: u32, samples_per_chunk: u32) -> StscEntry {
        StscEntry { first_chunk, samples_per_chunk, sample_description_index: 1 }
    }

    #[test]
    fn chunks_follow_their_runs() {
        let held = |runs: &[StscEntry], offsets: &[u64], count| {
            let chunks = chunks(runs, offsets, count)?;
            Ok::<_, String>(
                chunks.iter().map(|chunk| (chunk.first, chunk.count, chunk.offset)).collect::<Vec<_>>(),
            )
        };
        for (runs, offsets, count, expected) in [
            (&[run(1, 3)][..], &[10, 20, 30][..], 9, Ok(vec![(0, 3, 10), (3, 3, 20), (6, 3, 30)])),
            (
                &[run(1, 3), run(3, 1)],
                &[10, 20, 30, 40],
                8,
                Ok(vec![(0, 3, 10), (3, 3, 20), (6, 1, 30), (7, 1, 40)]),
            ),
            // More room than samples: the last chunk is not full.
            (&[run(1, u32::MAX)], &[10, 20], 5, Ok(vec![(0, 5, 10)])),
            (&[run(1, 0), run(2, 2)], &[10, 20], 2, Ok(vec![(0, 2, 20)])),
            (&[], &[], 0, Ok(vec![])),
            (&[run(1, 3)], &[10, 20], 9, Err("its chunks hold 6 of 9 samples")),
            (&[], &[10], 1, Err("its chunks hold 0 of 1 samples")),
            (&[run(2, 3)], &[10, 20], 3, Err("its stsc table is out of order")),
            (&[run(1, 1), run(1, 2)], &[10, 20], 3, Err("its stsc table is out of order")),
            (&[run(1, 1), run(3, 1), run(2, 1)], &[10, 20, 30], 3, Err("its stsc table is out of order")),
        ] {
            assert_eq!(held(runs, offsets, count), expected.map_err(str::to_owned), "{runs:?}");
        }
    }
}
