//! Rules that only the media themselves can decide: the length of a sound, and what a video to continue must be.

use gatehouse_sdk::{Facts, Failure, Finding, InvalidParam, MediaKind};
use serde::{Deserialize, Serialize};

use crate::sources::is_of_kind;

/// The longest video of the family (spec).
pub(crate) const MAX_SECONDS: u32 = 15;
/// What a continuation without `duration` adds.
const ADDED_SECONDS: u32 = 5;
/// Spec: "up to 100 MB".
const MAX_CLIP_BYTES: u64 = 100 * 1024 * 1024;
/// Spec: "2 to 10 s".
const CLIP_MILLISECONDS: std::ops::RangeInclusive<u64> = 2000..=10_000;
/// Spec: "width and height 240 to 4096 px".
const CLIP_SIDE: std::ops::RangeInclusive<u32> = 240..=4096;
/// Spec: "aspect ratio between 1:8 and 8:1".
const MAX_RATIO: u32 = 8;
/// MP3 and AAC come in frames of up to 26 ms, with up to two of padding at the beginning and the end: a sound made for a
/// video of 5 s is somewhat longer. The tolerance is that of clips.
const PADDING_MILLISECONDS: u64 = 200;

/// A source that has to be looked at before the submission, and its rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Check {
    pub(crate) source: String,
    pub(crate) rule: Rule,
    /// Of the result; `None` where they follow from the source.
    pub(crate) seconds: Option<u32>,
}

/// What a source must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Rule {
    /// `audio_url` of motion-2.6: at most as long as the video (spec).
    Sound,
    /// `video_urls[0]` of motion-2.7: the spec's limits, and shorter than the whole.
    Clip,
}

impl Rule {
    fn field(self) -> &'static str {
        match self {
            Self::Sound => "audio_url",
            Self::Clip => "video_urls[0]",
        }
    }
}

impl Check {
    /// What the host found, as [`Check::apply`].
    pub(crate) fn settle(&self, finding: &Finding) -> Result<Option<u32>, Failure> {
        let facts = finding.found.as_ref();
        let facts = facts.map_err(|reason| Failure::unavailable(self.rule.field(), reason))?;
        self.apply(facts).map_err(Failure::from)
    }

    /// The rule, for known facts; the seconds of the result where they follow from the source.
    pub(crate) fn apply(&self, facts: &Facts) -> Result<Option<u32>, InvalidParam> {
        let field = self.rule.field();
        let invalid = |problem: String| InvalidParam::at(Some(field), problem);
        match self.rule {
            Rule::Sound => {
                sound(facts, self.seconds.unwrap_or(MAX_SECONDS)).map_err(invalid)?;
                Ok(None)
            }
            Rule::Clip => {
                let milliseconds = clip(facts).map_err(invalid)?;
                let Some(wanted) = self.seconds else { return Ok(Some(continued(milliseconds))) };
                if milliseconds < u64::from(wanted) * 1000 {
                    return Ok(None);
                }
                let problem = format!(
                    "expected more seconds than the video to continue has ({}), as it is the length of the whole, got {wanted}",
                    seconds(milliseconds),
                );
                Err(InvalidParam::at(Some("duration"), problem))
            }
        }
    }
}

/// The seconds of a continuation without `duration`: 5 more than the video has, to the nearest second, and at most 15
/// (decisions, "motion-2.7 continuation").
fn continued(milliseconds: u64) -> u32 {
    let length = u32::try_from((milliseconds + 500) / 1000).unwrap_or(MAX_SECONDS);
    length.saturating_add(ADDED_SECONDS).min(MAX_SECONDS)
}

fn sound(facts: &Facts, limit: u32) -> Result<(), String> {
    is_of_kind(MediaKind::Audio, facts)?;
    let milliseconds = facts.milliseconds.ok_or_else(|| unreadable("length", facts))?;
    if milliseconds == 0 {
        return Err("expected a file with sound in it, got 0 s".to_owned());
    }
    if milliseconds > u64::from(limit) * 1000 + PADDING_MILLISECONDS {
        return Err(format!(
            "expected a sound of at most `duration`, {limit} s, got {} s",
            seconds(milliseconds)
        ));
    }
    Ok(())
}

/// The length of a video that may be continued.
fn clip(facts: &Facts) -> Result<u64, String> {
    if !matches!(facts.mime.as_str(), "video/mp4" | "video/quicktime") {
        return Err(format!("expected an mp4 or mov video, got {}", facts.mime));
    }
    if facts.bytes > MAX_CLIP_BYTES {
        return Err(format!("expected at most 100 MB ({MAX_CLIP_BYTES} bytes), got {} bytes", facts.bytes));
    }
    let milliseconds = facts.milliseconds.ok_or_else(|| unreadable("length", facts))?;
    if !CLIP_MILLISECONDS.contains(&milliseconds) {
        return Err(format!("expected a video of 2 to 10 s, got {} s", seconds(milliseconds)));
    }
    let (Some(width), Some(height)) = (facts.width, facts.height) else {
        return Err(unreadable("size", facts));
    };
    if !CLIP_SIDE.contains(&width) || !CLIP_SIDE.contains(&height) {
        return Err(format!("expected width and height of 240 to 4096 pixels, got {width}x{height}"));
    }
    if width.max(height) > MAX_RATIO * width.min(height) {
        return Err(format!("expected a ratio of width to height between 1:8 and 8:1, got {width}:{height}"));
    }
    Ok(milliseconds)
}

fn unreadable(what: &str, facts: &Facts) -> String {
    format!("expected a file that says its {what}, got {} of unreadable {what}", facts.mime)
}

/// With as many decimals as it has.
fn seconds(milliseconds: u64) -> String {
    let text = format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
