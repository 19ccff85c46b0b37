//! What of a film a clip shows, and which samples of each track that takes.

use std::ops::Range;

use gatehouse_model::Clip;

use crate::edit::clip::samples::Piece;
use crate::edit::clip::track::{Nanos, SECOND, Track};

const MILLISECOND: Nanos = SECOND / 1000;

/// What is kept of one track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) samples: Range<u32>,
    /// Ticks of all kept samples.
    pub(super) duration: u64,
    /// Added to every composition offset, so that the first is not negative.
    pub(super) lift: i64,
    /// How long the clip shows nothing of the track.
    pub(super) delay: Nanos,
    /// The tick shown first, counted from the first kept sample.
    pub(super) media_time: u64,
    /// How long the clip shows the track.
    pub(super) length: Nanos,
}

/// The span of the film that the clip shows.
pub(super) fn span(tracks: &[Track<'_>], clip: &Clip) -> Result<Range<Nanos>, String> {
    let lead = tracks.iter().find(|track| track.is_video).or(tracks.first());
    let lead = lead.ok_or("it has neither video nor audio")?;
    let from = Nanos::from(clip.from_ms) * MILLISECOND;
    let lead_end = lead.end();
    if from >= lead_end {
        let length = lead_end.max(0) / MILLISECOND;
        return Err(format!("it is {length} ms long, the clip begins at {} ms", clip.from_ms));
    }
    // Lengths and times reach a family in whole milliseconds: a frame at 2.0004 s is the one at 2000 ms.
    let within = from + MILLISECOND - 1;
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
    let Some(first) = track.sync_at(span.start) else {
        return Err("it has no sync sample to begin with".to_owned());
    };
    let shown = track.moment(first.shown);
    let begin = span.start.max(track.delay).max(shown);
    let end = span.end.min(track.end());
    if end <= begin {
        return Ok(None);
    }
    let kept = || track.tables.samples().skip(first.index as usize);
    let last = kept().filter(|sample| track.moment(sample.shown) < end).last().unwrap_or(first);
    let samples = first.index..last.index + 1;
    let duration = kept().take(samples.len()).map(|sample| u64::from(sample.duration)).sum();
    let offset = first.shown - first.decoded;
    let lift = (-offset).max(0);
    let media_time = i128::from(offset + lift) + track.ticks(begin - shown);
    let media_time = u64::try_from(media_time).map_err(|_| "its times are out of range".to_owned())?;
    Ok(Some(Cut { samples, duration, lift, delay: begin - span.start, media_time, length: end - begin }))
}
