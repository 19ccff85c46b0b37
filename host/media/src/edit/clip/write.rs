//! Writes a clip's head: `ftyp`, `moov` with the cut tables, and the header of the `mdat` that follows.

use std::ops::Range;

use mp4_atom::{
    Atom, BufMut, Co64, Ctts, CttsEntry, Elst, ElstEntry, Encode, Error, Result, Sbgp, SbgpEntry, Stco, Stsc,
    StscEntry, Stss, Stsz, Stts, SttsEntry,
};

use crate::edit::clip::presentation::Kept;
use crate::edit::clip::samples::cut_runs;
use crate::edit::clip::track::rounded;
use crate::probe::mp4::boxes;

/// The head of the clip whose samples are these parts of the film.
pub(super) fn head(
    ftyp: &[u8],
    moov: &[u8],
    movie_scale: u32,
    kept: &[Kept<'_>],
    parts: &[Range<u64>],
) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    whole(&mut head, b"ftyp", ftyp)?;
    let data: u64 = parts.iter().map(|part| part.end - part.start).sum();
    // Only the numbers change with the place of the samples, never the length of the tables.
    let mut layout =
        Layout { movie_scale, parts, starts: vec![], is_long: u32::try_from(data + FAR).is_err() };
    let mut measured = Vec::new();
    layout.write_movie(&mut measured, moov, kept)?;
    let short = u32::try_from(data + 8).ok();
    let before = head.len() + measured.len() + if short.is_some() { 8 } else { 16 };
    layout.starts = starts(parts, before as u64);
    layout.write_movie(&mut head, moov, kept)?;
    // 1 says that a length of 64 bits follows.
    short.unwrap_or(1).encode(&mut head)?;
    b"mdat".encode(&mut head)?;
    if short.is_none() {
        (data + 16).encode(&mut head)?;
    }
    Ok(head)
}

/// More than any head takes: with so much behind it, offsets may need 64 bits.
const FAR: u64 = 256 * 1024 * 1024;

/// What the tables are written for.
struct Layout<'a> {
    movie_scale: u32,
    parts: &'a [Range<u64>],
    /// Where each part begins in the clip; empty while only the length counts.
    starts: Vec<u64>,
    /// Whether chunk offsets take 64 bits.
    is_long: bool,
}

impl Layout<'_> {
    fn write_movie(&self, out: &mut Vec<u8>, moov: &[u8], kept: &[Kept<'_>]) -> Result<()> {
        let ends = kept.iter().map(|kept| self.shown(kept).map(|shown| shown.end));
        let length = ends.collect::<Result<Vec<_>>>()?.into_iter().max().unwrap_or_default();
        out.encode_atom(b"moov", |out| {
            let mut traks = 0..;
            for (name, content) in boxes(moov) {
                match &name {
                    b"mvhd" => with_duration(out, &name, content, MOVIE_OR_MEDIA, length)?,
                    b"trak" => {
                        let number = traks.next();
                        if let Some(kept) = kept.iter().find(|kept| Some(kept.track.number) == number) {
                            out.encode_atom(b"trak", |out| self.write_track(out, content, kept))?;
                        }
                    }
                    b"free" | b"skip" | b"wide" => {}
                    _ => whole(out, &name, content)?,
                }
            }
            Ok(())
        })
    }

    /// Everything in a track stays but its times, its sample tables, and references to tracks that may be gone.
    fn write_track(&self, out: &mut Vec<u8>, content: &[u8], kept: &Kept<'_>) -> Result<()> {
        for (name, content) in boxes(content) {
            match &name {
                b"tkhd" => {
                    with_duration(out, &name, content, TRACK, self.shown(kept)?.end)?;
                    out.encode_atom(b"edts", |out| self.edit_list(kept)?.encode(out))?;
                }
                b"edts" | b"tref" => {}
                b"mdia" => out.encode_atom(b"mdia", |out| self.write_media(out, content, kept))?,
                _ => whole(out, &name, content)?,
            }
        }
        Ok(())
    }

    fn write_media(&self, out: &mut Vec<u8>, content: &[u8], kept: &Kept<'_>) -> Result<()> {
        for (name, content) in boxes(content) {
            match &name {
                b"mdhd" => with_duration(out, &name, content, MOVIE_OR_MEDIA, kept.cut.duration)?,
                b"minf" => out.encode_atom(b"minf", |out| {
                    for (name, content) in boxes(content) {
                        match &name {
                            b"stbl" => out.encode_atom(b"stbl", |out| self.write_tables(out, kept))?,
                            _ => whole(out, &name, content)?,
                        }
                    }
                    Ok(())
                })?,
                _ => whole(out, &name, content)?,
            }
        }
        Ok(())
    }

    /// Begin and end of a track in the clip, in ticks of the movie.
    fn shown(&self, kept: &Kept<'_>) -> Result<Range<u64>> {
        let begin = self.movie_ticks(kept.cut.delay)?;
        Ok(begin..self.movie_ticks(kept.cut.delay + kept.cut.length)?)
    }

    fn edit_list(&self, kept: &Kept<'_>) -> Result<Elst> {
        let shown = self.shown(kept)?;
        let edit =
            |segment_duration, media_time| ElstEntry { segment_duration, media_time, media_rate: 1.into() };
        let empty = (shown.start > 0).then(|| edit(shown.start, None));
        let media = edit(shown.end - shown.start, Some(kept.cut.media_time));
        Ok(Elst { entries: empty.into_iter().chain([media]).collect() })
    }

    fn write_tables(&self, out: &mut Vec<u8>, kept: &Kept<'_>) -> Result<()> {
        let (tables, samples) = (&kept.track.tables, &kept.cut.samples);
        for (name, content) in boxes(kept.track.stbl) {
            match &name {
                b"stsd" | b"sgpd" => whole(out, &name, content)?,
                b"sbgp" => cut_groups(content, samples)?.encode(out)?,
                b"sdtp" => whole(out, &name, &cut_flags(content, samples)?)?,
                _ => {}
            }
        }
        let durations = tables.durations.iter().map(|run| (run.sample_count, run.sample_delta));
        let durations = cut_runs(durations, samples.clone());
        let entries = durations.map(|(sample_count, sample_delta)| SttsEntry { sample_count, sample_delta });
        Stts { entries: entries.collect() }.encode(out)?;
        if let Some(offsets) = &tables.offsets {
            let offsets = offsets.iter().map(|run| (run.sample_count, run.sample_offset + kept.cut.lift));
            let offsets = cut_runs(offsets, samples.clone());
            let entries =
                offsets.map(|(sample_count, sample_offset)| CttsEntry { sample_count, sample_offset });
            Ctts { entries: entries.collect() }.encode(out)?;
        }
        if let Some(sync) = &tables.sync {
            let kept = sync.iter().filter(|number| **number > samples.start && **number <= samples.end);
            Stss { entries: kept.map(|number| number - samples.start).collect() }.encode(out)?;
        }
        Stsz { samples: tables.sizes(samples) }.encode(out)?;
        self.write_chunks(out, kept)
    }

    fn write_chunks(&self, out: &mut Vec<u8>, kept: &Kept<'_>) -> Result<()> {
        let mut runs: Vec<StscEntry> = Vec::new();
        for (first_chunk, piece) in (1..).zip(&kept.pieces) {
            let same = |run: &&StscEntry| {
                run.samples_per_chunk == piece.count && run.sample_description_index == piece.description
            };
            if runs.last().filter(same).is_none() {
                let sample_description_index = piece.description;
                runs.push(StscEntry {
                    first_chunk,
                    samples_per_chunk: piece.count,
                    sample_description_index,
                });
            }
        }
        Stsc { entries: runs }.encode(out)?;
        let offsets = kept.pieces.iter().map(|piece| self.place(piece.bytes.start));
        if self.is_long {
            return Co64 { entries: offsets.collect() }.encode(out);
        }
        let short = |offset: u64| u32::try_from(offset).map_err(|_| Error::InvalidSize);
        Stco { entries: offsets.map(short).collect::<Result<_>>()? }.encode(out)
    }

    /// Where a byte of the film stands in the clip; 0 for what is not in it, such as an empty chunk.
    fn place(&self, at: u64) -> u64 {
        let before = self.parts.partition_point(|part| part.start <= at);
        let part = before.checked_sub(1).and_then(|index| self.parts.get(index).zip(self.starts.get(index)));
        part.filter(|(part, _)| part.contains(&at)).map_or(0, |(part, start)| start + (at - part.start))
    }

    fn movie_ticks(&self, span: i128) -> Result<u64> {
        u64::try_from(rounded(span, self.movie_scale))
            .map_err(|_| Error::Unsupported("a length out of range"))
    }
}

fn starts(parts: &[Range<u64>], first: u64) -> Vec<u64> {
    let lengths = parts.iter().map(|part| part.end - part.start);
    lengths.scan(first, |next, length| Some(std::mem::replace(next, *next + length))).collect()
}

fn whole(out: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) -> Result<()> {
    out.encode_atom(name, |out| {
        out.append_slice(content);
        Ok(())
    })
}

/// Where a header of version 0 has its duration, of 32 bits. In version 1 it has 64, behind dates that take 8 bytes more.
const MOVIE_OR_MEDIA: usize = 16;
const TRACK: usize = 20;

/// The same header with another duration.
fn with_duration(
    out: &mut Vec<u8>,
    name: &[u8; 4],
    content: &[u8],
    short_at: usize,
    duration: u64,
) -> Result<()> {
    let mut content = content.to_vec();
    let is_long = content.first() == Some(&1);
    let short = || u32::try_from(duration).map_err(|_| Error::Unsupported("a length out of range"));
    let (at, bytes) = if is_long {
        (short_at + 8, duration.to_be_bytes().to_vec())
    } else {
        (short_at, short()?.to_be_bytes().to_vec())
    };
    let field = content.get_mut(at..at + bytes.len()).ok_or(Error::ShortRead)?;
    field.copy_from_slice(&bytes);
    whole(out, name, &content)
}

fn cut_groups(mut content: &[u8], samples: &Range<u32>) -> Result<Sbgp> {
    let mut groups = Sbgp::decode_body(&mut content)?;
    let runs = groups.entries.iter().map(|run| (run.sample_count, run.group_description_index));
    let runs = cut_runs(runs, samples.clone());
    groups.entries = runs
        .map(|(sample_count, group_description_index)| SbgpEntry { sample_count, group_description_index })
        .collect();
    Ok(groups)
}

/// `sdtp`: version and flags, then a byte for each sample.
fn cut_flags(content: &[u8], samples: &Range<u32>) -> Result<Vec<u8>> {
    let (head, flags) = content.split_at_checked(4).ok_or(Error::ShortRead)?;
    let kept = flags.get(samples.start as usize..samples.end as usize).ok_or(Error::ShortRead)?;
    Ok([head, kept].concat())
}
