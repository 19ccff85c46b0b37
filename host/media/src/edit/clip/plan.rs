//! From a film's head to the clip's: which bytes of the film are kept, and the tables in front of them.

use std::ops::Range;

use bytes::Bytes;
use gatehouse_model::Clip;

use crate::edit::clip::presentation::{self, Kept};
use crate::edit::clip::tables::MAX_SAMPLES;
use crate::edit::clip::track::{Track, timescale};
use crate::edit::clip::write;
use crate::probe::mp4::{boxes, child};

/// What a clip is planned from: the film's head, without its samples.
#[derive(Clone, Debug)]
pub(crate) struct Film {
    /// The content of its `ftyp` box.
    pub(crate) ftyp: Bytes,
    /// The content of its `moov` box.
    pub(crate) moov: Bytes,
    /// Bytes of the whole file.
    pub(crate) length: u64,
}

/// An edited result: what is written first, and which bytes of the source follow, in this order.
#[derive(Debug)]
pub(crate) struct Edited {
    /// Its first bytes, or all of them.
    pub(crate) head: Vec<u8>,
    /// Ascending; no two overlap or touch.
    pub(crate) parts: Vec<Range<u64>>,
}

impl Edited {
    pub(crate) fn length(&self) -> u64 {
        self.head.len() as u64 + self.parts.iter().map(|part| part.end - part.start).sum::<u64>()
    }
}

/// Plans a clip.
///
/// # Errors
/// Why the film cannot be cut so, in words a client may read.
pub(crate) fn plan(film: &Film, clip: &Clip) -> Result<Edited, String> {
    if child(&film.moov, b"mvex").is_some() {
        return Err("it is a fragmented file, only a progressive one can be cut".to_owned());
    }
    let movie_scale = child(&film.moov, b"mvhd").and_then(timescale).ok_or("it has no timescale")?;
    let tracks = tracks(&film.moov, movie_scale)?;
    let lead = tracks.iter().find(|track| track.is_video).or_else(|| tracks.first());
    let lead = lead.ok_or("it has neither video nor audio")?;
    let span = presentation::span(&tracks, lead, clip)?;
    let lead_number = lead.number;
    let mut kept = Vec::with_capacity(tracks.len());
    for track in tracks {
        let number = track.number;
        let cut = presentation::cut(&track, &span).map_err(|reason| of_track(number, &reason))?;
        if let Some(cut) = cut {
            let pieces = track.tables.pieces(&cut.samples, film.length);
            let pieces = pieces.map_err(|reason| of_track(number, &reason))?;
            kept.push(Kept { track, cut, pieces });
        }
    }
    if kept.iter().all(|kept| kept.track.number != lead_number) {
        return Err("nothing of it is shown in the span of the clip".to_owned());
    }
    let parts = merged(kept.iter().flat_map(|kept| &kept.pieces).map(|piece| piece.bytes.clone()).collect());
    let head = write::head(&film.ftyp, &film.moov, movie_scale, &kept, &parts);
    let head = head.map_err(|error| format!("its tables cannot be written anew: {error}"))?;
    Ok(Edited { head, parts })
}

fn tracks(moov: &[u8], movie_scale: u32) -> Result<Vec<Track<'_>>, String> {
    let mut tracks = Vec::new();
    let mut most_samples = MAX_SAMPLES;
    let traks = boxes(moov).filter(|(name, _)| name == b"trak");
    for (number, (_, content)) in traks.enumerate() {
        let track = Track::read(number, content, movie_scale, most_samples);
        if let Some(track) = track.map_err(|reason| of_track(number, &reason))? {
            most_samples -= track.tables.count;
            tracks.push(track);
        }
    }
    Ok(tracks)
}

fn of_track(number: usize, reason: &str) -> String {
    format!("track {}: {reason}", number + 1)
}

/// The same bytes in ascending order, each once.
fn merged(mut parts: Vec<Range<u64>>) -> Vec<Range<u64>> {
    parts.retain(|part| !part.is_empty());
    parts.sort_unstable_by_key(|part| part.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for part in parts {
        match merged.last_mut() {
            Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
            _ => merged.push(part),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_order_and_each_byte_is_there_once() {
        for (parts, expected) in [
            (&[][..], &[][..]),
            (&[(5, 9)], &[(5, 9)]),
            (&[(9, 12), (5, 9)], &[(5, 12)]),
            (&[(5, 9), (20, 30), (7, 11), (30, 30), (12, 12)], &[(5, 11), (20, 30)]),
            (&[(0, 100), (3, 5), (99, 101)], &[(0, 101)]),
        ] {
            let merged = merged(parts.iter().map(|&(start, end)| start..end).collect());
            let merged: Vec<(u64, u64)> = merged.iter().map(|part| (part.start, part.end)).collect();
            assert_eq!(merged, expected, "{parts:?}");
        }
    }
}
