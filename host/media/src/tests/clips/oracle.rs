//! What a clip must be, said once more: both files are walked, every time is an exact fraction, and every sample of the
//! clip is compared with the film's.

use std::ops::Range;

use gatehouse_model::Clip;

use super::walker::{Film, Sample, Track, walk};

/// Times of both files in a unit that all their timescales divide.
struct Clock {
    /// Units of a second.
    second: i128,
    movie_scale: u32,
}

impl Clock {
    fn of(film: &Film) -> Self {
        let scales = film.tracks.iter().map(|track| track.scale).chain([film.scale, 1000]);
        let second = scales.map(i128::from).fold(1, |common, scale| common / divisor(common, scale) * scale);
        Self { second, movie_scale: film.scale }
    }

    fn movie(&self, ticks: u64) -> i128 {
        i128::from(ticks) * self.second / i128::from(self.movie_scale)
    }

    fn milliseconds(&self, count: u64) -> i128 {
        i128::from(count) * self.second / 1000
    }

    fn tick(&self, track: &Track) -> i128 {
        self.second / i128::from(track.scale)
    }

    fn delay(&self, track: &Track) -> i128 {
        track.edits.iter().filter(|(_, time)| *time < 0).map(|(length, _)| self.movie(*length)).sum()
    }

    fn moment(&self, track: &Track, shown: i64) -> i128 {
        let media_time = track.edits.iter().find(|(_, time)| *time >= 0).map_or(0, |(_, time)| *time);
        self.delay(track) + i128::from(shown - media_time) * self.tick(track)
    }

    fn end(&self, track: &Track) -> i128 {
        let last =
            track.samples.iter().map(|sample| sample.shown + i64::from(sample.duration)).max().unwrap();
        // An edit without a length lasts as long as the media.
        let edit = track.edits.iter().find(|(length, time)| *time >= 0 && *length > 0);
        let length = edit.map(|(length, _)| self.movie(*length));
        let edited = length.map_or(i128::MAX, |length| self.delay(track) + length);
        self.moment(track, last).min(edited)
    }
}

fn divisor(one: i128, other: i128) -> i128 {
    if other == 0 { one } else { divisor(other, one % other) }
}

/// The span a clip shows.
fn span(film: &Film, clock: &Clock, clip: &Clip) -> Range<i128> {
    let lead = film.tracks.iter().find(|track| &track.handler == b"vide").unwrap_or(&film.tracks[0]);
    let from = clock.milliseconds(clip.from_ms);
    let moments =
        lead.samples.iter().filter(|sample| sample.is_sync).map(|sample| clock.moment(lead, sample.shown));
    let sync = moments.filter(|moment| *moment < from + clock.milliseconds(1)).max();
    let begin = sync.map_or(from, |moment| moment.max(clock.delay(lead).min(from)));
    let end = film.tracks.iter().map(|track| clock.end(track)).max().unwrap();
    begin..clip.to_ms.map_or(end, |to| end.min(clock.milliseconds(to)))
}

/// Checks a clip of a film; both are whole files. `film` has video and audio tracks only.
pub(crate) fn check(source: &[u8], clip: &Clip, out: &[u8]) {
    let (film, cut) = (walk(source), walk(out));
    assert_eq!(cut.boxes, ["ftyp", "moov", "mdat"]);
    assert_eq!(cut.scale, film.scale);
    let clock = Clock::of(&film);
    let span = span(&film, &clock, clip);
    let mut tracks = cut.tracks.iter();
    for track in &film.tracks {
        let end = span.end.min(clock.end(track));
        let shows = |sample: &Sample| {
            let moment = clock.moment(track, sample.shown);
            let later = moment + i128::from(sample.duration) * clock.tick(track);
            moment.max(span.start).max(clock.delay(track)) < end.min(later)
        };
        if track.samples.iter().any(shows) {
            check_track(
                &clock,
                track,
                tracks.next().expect("a track that shows something"),
                &(span.start..end),
            );
        }
    }
    assert!(tracks.next().is_none(), "a track too many");
    assert_eq!(cut.duration, cut.tracks.iter().map(|track| track.duration).max().unwrap());
    // Nothing of what was cut away is left in the file.
    let kept = cut.tracks.iter().flat_map(|track| &track.samples).map(|sample| sample.bytes.len());
    assert_eq!(cut.data, kept.sum::<usize>());
}

fn check_track(clock: &Clock, track: &Track, cut: &Track, span: &Range<i128>) {
    assert_eq!(
        (&cut.handler, &cut.descriptions, cut.scale),
        (&track.handler, &track.descriptions, track.scale)
    );
    let first = &cut.samples[0];
    let at =
        track.samples.iter().position(|sample| sample.bytes == first.bytes).expect("a sample of the film");
    let source = &track.samples[at..at + cut.samples.len()];
    let begins = &source[0];
    for (sample, source) in cut.samples.iter().zip(source) {
        assert_eq!(sample.bytes, source.bytes);
        assert_eq!((sample.duration, sample.is_sync), (source.duration, source.is_sync));
        assert_eq!((sample.flags, sample.group), (source.flags, source.group));
        assert_eq!(sample.decoded, source.decoded - begins.decoded);
        assert_eq!(sample.shown - first.shown, source.shown - begins.shown);
    }
    check_ends(clock, track, at..at + cut.samples.len(), span);
    // In step with the film, to a tick of the track, and one of the movie where the track begins later: what it waits may
    // be less than a tick of the movie, and then nothing is written.
    let exact = clock.moment(track, begins.shown) - span.start;
    let came = clock.moment(cut, first.shown);
    let movie_tick = clock.movie(1);
    let waits = cut.edits.len() > 1 || clock.delay(track) > span.start;
    let allowed = clock.tick(track) + if waits { movie_tick } else { 0 };
    assert!((exact - came).abs() <= allowed, "{exact} or {came} of {}", clock.second);
    let lengths: u64 = cut.edits.iter().map(|(length, _)| length).sum();
    assert!((clock.movie(lengths) - (span.end - span.start)).abs() <= 2 * movie_tick, "{lengths}");
    assert_eq!(cut.duration, lengths);
    assert_eq!(cut.media_duration, cut.samples.iter().map(|sample| u64::from(sample.duration)).sum::<u64>());
}

/// Everything shown is there, from the right sync sample on, and no more than the last frame shown needs.
fn check_ends(clock: &Clock, track: &Track, kept: Range<usize>, span: &Range<i128>) {
    let moment = |sample: &Sample| clock.moment(track, sample.shown);
    let sync = track.samples.iter().enumerate().filter(|(_, sample)| sample.is_sync);
    let mut backwards = sync.clone();
    let before = backwards.rfind(|(_, sample)| moment(sample) <= span.start);
    let begin = before.or_else(|| sync.clone().next()).unwrap().0;
    assert_eq!(kept.start, begin, "where the track begins");
    for (index, sample) in track.samples.iter().enumerate() {
        if moment(sample) >= span.start && moment(sample) < span.end && index >= begin {
            assert!(kept.contains(&index), "sample {index} is shown but was cut away");
        }
    }
    assert!(moment(&track.samples[kept.end - 1]) < span.end, "a sample too many");
}

/// A film is refused only where the clip begins behind its leading track, or nothing of it is shown.
pub(crate) fn check_reason(source: &[u8], clip: &Clip, reason: &str) {
    let film = walk(source);
    let clock = Clock::of(&film);
    let lead = film.tracks.iter().find(|track| &track.handler == b"vide").unwrap_or(&film.tracks[0]);
    let from = clock.milliseconds(clip.from_ms);
    if reason.ends_with(&format!("ms long, the clip begins at {} ms", clip.from_ms)) {
        assert!(from >= clock.end(lead), "{reason}");
        return;
    }
    assert_eq!(reason, "nothing of it is shown in the span of the clip");
    let span = span(&film, &clock, clip);
    let begin = lead.samples.iter().map(|sample| clock.moment(lead, sample.shown)).min().unwrap();
    let begin = begin.max(clock.delay(lead)).max(span.start);
    assert!(span.end.min(clock.end(lead)) <= begin, "{span:?} {begin}");
}
