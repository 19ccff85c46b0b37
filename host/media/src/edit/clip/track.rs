//! One video or audio track, on the film's own time line.

use mp4_atom::Elst;

use crate::edit::clip::samples::Sample;
use crate::edit::clip::tables::{Tables, optional};
use crate::probe::mp4::{behind_dates, boxes, child};

/// A moment of the film, or a span of it.
pub(super) type Nanos = i128;

pub(super) const SECOND: Nanos = 1_000_000_000;

/// What an edit list may span: a day. Keeps all arithmetic far from its limits.
const LONGEST: Nanos = 24 * 3600 * SECOND;

/// A track that can be cut.
pub(super) struct Track<'a> {
    /// Which `trak` of the film it is, counted from 0.
    pub(super) number: usize,
    pub(super) stbl: &'a [u8],
    pub(super) is_video: bool,
    /// Ticks of a second.
    pub(super) scale: u32,
    pub(super) tables: Tables,
    /// The film shows nothing of the track before this moment.
    pub(super) delay: Nanos,
    /// The tick that is shown at `delay`.
    media_time: i128,
    /// How long the film shows it, by its edit list.
    length: Option<Nanos>,
}

impl<'a> Track<'a> {
    /// Reads a `trak`; `None` when it is neither video nor audio. `movie_scale` is for its edit list.
    pub(super) fn read(
        number: usize,
        content: &'a [u8],
        movie_scale: u32,
        most_samples: u32,
    ) -> Result<Option<Self>, String> {
        let mdia = child(content, b"mdia").ok_or("it has no mdia box")?;
        let handler = child(mdia, b"hdlr").and_then(|hdlr| hdlr.get(8..12));
        let is_video = match handler {
            Some(b"vide") => true,
            Some(b"soun") => false,
            _ => return Ok(None),
        };
        let scale = child(mdia, b"mdhd").and_then(timescale).ok_or("it has no timescale")?;
        let minf = child(mdia, b"minf").ok_or("it has no minf box")?;
        let stbl = child(minf, b"stbl").ok_or("it has no stbl box")?;
        // Version, flags and a count, then one box for each description.
        let descriptions =
            child(stbl, b"stsd").and_then(|stsd| stsd.get(8..)).ok_or("it has no stsd table")?;
        if boxes(descriptions).any(|(name, _)| matches!(&name, b"encv" | b"enca")) {
            return Err("it is encrypted".to_owned());
        }
        let tables = Tables::read(stbl, most_samples)?;
        let elst = child(content, b"edts").map(optional::<Elst>).transpose()?.flatten();
        let (delay, media_time, length) = presented(&elst.unwrap_or_default(), movie_scale)?;
        Ok(Some(Self { number, stbl, is_video, scale, tables, delay, media_time, length }))
    }

    /// When the film shows a tick; before `delay` means never.
    pub(super) fn moment(&self, tick: i64) -> Nanos {
        self.delay + ((i128::from(tick) - self.media_time) * SECOND).div_euclid(self.scale.into())
    }

    /// When the film stops showing it.
    pub(super) fn end(&self) -> Nanos {
        let last = self.tables.samples().map(|sample| sample.shown + i64::from(sample.duration)).max();
        let end = last.map_or(self.delay, |tick| self.moment(tick));
        self.length.map_or(end, |length| end.min(self.delay + length))
    }

    /// The sync sample to begin with so that the film can be shown from this moment on: the last one at or before
    /// it, else the first.
    pub(super) fn sync_at(&self, moment: Nanos) -> Option<Sample> {
        let mut sync = self.tables.samples().filter(|sample| sample.is_sync);
        let first = sync.next()?;
        let later = sync.take_while(|sample| self.moment(sample.shown) <= moment).last();
        Some(later.unwrap_or(first))
    }
}

/// Ticks of a span at a scale, rounded to the nearest.
pub(super) fn rounded(span: Nanos, scale: u32) -> i128 {
    (span * i128::from(scale) + SECOND / 2).div_euclid(SECOND)
}

/// That of `mvhd` or `mdhd`.
pub(super) fn timescale(header: &[u8]) -> Option<u32> {
    behind_dates(header).filter(|&scale| scale > 0)
}

/// Delay, first tick and length by an edit list: empty parts, then one of the media.
fn presented(elst: &Elst, movie_scale: u32) -> Result<(Nanos, i128, Option<Nanos>), String> {
    let span = |ticks: u64| (i128::from(ticks) * SECOND).div_euclid(movie_scale.into());
    let empty = elst.entries.iter().take_while(|entry| entry.media_time.is_none());
    let delay: Nanos = empty.clone().map(|entry| span(entry.segment_duration)).sum();
    let count = empty.count();
    if delay > LONGEST {
        return Err("its edit list is longer than a day".to_owned());
    }
    match elst.entries.get(count..).unwrap_or_default() {
        [] => Ok((delay, 0, None)),
        [entry] if entry.media_rate.integer() == 1 && entry.media_rate.decimal() == 0 => {
            let length = Some(span(entry.segment_duration).min(LONGEST)).filter(|&length| length > 0);
            Ok((delay, entry.media_time.unwrap_or_default().into(), length))
        }
        [_] => Err("its edit list changes the speed".to_owned()),
        several => Err(format!("its edit list has {} parts, at most one can be cut", several.len())),
    }
}
