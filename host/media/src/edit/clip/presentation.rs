//! What of a film a clip shows, and which samples of each track that takes.

use std::ops::Range;

use gatehouse_model::Clip;

use crate::edit::clip::samples::Piece;
use crate::edit::clip::track::{Nanos, SECOND, Track, rounded};

const MILLISECOND: Nanos = SECOND / 1000;

/// Moments of different tracks that are the same may differ by this much, since each is rounded.
const SAME: Nanos = 10;

/// What is kept of one track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) samples: Range<u32>,
    /// Ticks of all kept samples.
    pub(super) duration: u64,
    /// Added to every composition offset, so that no tick that is shown is negative.
    pub(super) lift: i64,
    /// How long the clip shows nothing of the track.
    pub(super) delay: Nanos,
    /// The tick shown first, counted from the first kept sample.
    pub(super) media_time: u64,
    /// How long the clip shows the track.
    pub(super) length: Nanos,
}

/// The span of the film that the clip shows: it begins where the leading track can.
pub(super) fn span(tracks: &[Track<'_>], lead: &Track<'_>, clip: &Clip) -> Result<Range<Nanos>, String> {
    let from = Nanos::from(clip.from_ms) * MILLISECOND;
    let lead_end = lead.end();
    if from >= lead_end {
        let length = lead_end.max(0) / MILLISECOND;
        return Err(format!("it is {length} ms long, the clip begins at {} ms", clip.from_ms));
    }
    // Lengths and times reach a family in whole milliseconds: a frame at 2.0004 s is the one at 2000 ms.
    let within = from + MILLISECOND - SAME;
    let sync = lead.sync_at(within).ok_or("it has no sync sample to begin with")?;
    let moment = lead.moment(sync.shown);
    let start = if moment <= within { moment.max(lead.delay.min(from)) } else { from };
    let end = tracks.iter().map(Track::end).max().unwrap_or(lead_end);
    let end = clip.to_ms.map_or(end, |to| end.min(Nanos::from(to) * MILLISECOND));
    Ok(start..end)
}

/// A track of the clip.
pub(super) struct Kept<'a> {
    pub(super) track: Track<'a>,
    pub(super) cut: Cut,
    pub(super) pieces: Vec<Piece>,
}

/// What of a track is kept for a span; `None` when it shows nothing then.
pub(super) fn cut(track: &Track<'_>, span: &Range<Nanos>) -> Result<Option<Cut>, String> {
    let Some(first) = track.sync_at(span.start + SAME) else {
        return Err("it has no sync sample to begin with".to_owned());
    };
    // What a film shows before a sync sample takes frames that are gone, unless the film begins with it.
    let earliest = if first.index == 0 { track.tables.samples().map(|it| it.shown).min() } else { None };
    let earliest = earliest.unwrap_or(first.shown);
    let shown = track.moment(earliest);
    let begin = span.start.max(track.delay).max(shown);
    let end = span.end.min(track.end());
    if end <= begin + SAME {
        return Ok(None);
    }
    let kept = || track.tables.samples().skip(first.index as usize);
    let last = kept().filter(|sample| track.moment(sample.shown) + SAME < end).last().unwrap_or(first);
    let samples = first.index..last.index + 1;
    let duration = kept().take(samples.len()).map(|sample| u64::from(sample.duration)).sum();
    let tick = i128::from(earliest - first.decoded) + rounded(begin - shown, track.scale);
    let lift = i64::try_from((-tick).max(0)).unwrap_or_default();
    let media_time = tick + i128::from(lift);
    let media_time = u64::try_from(media_time).map_err(|_| "its times are out of range".to_owned())?;
    Ok(Some(Cut { samples, duration, lift, delay: begin - span.start, media_time, length: end - begin }))
}
