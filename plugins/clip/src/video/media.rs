//! What references must be, by the facts the host has found: type, size, pixels, ratio and time.
//!
//! Limits of the specification ("clip-2.0", decisions.md) come first; where it is silent, the documented ones of the
//! provider, so that a client learns them before anything is sent.

use gatehouse_sdk::{Facts, MediaKind};
use serde::{Deserialize, Serialize};

const MB: u64 = 1024 * 1024;
/// Decisions: "480P to 720P" in pixels.
const VIDEO_PIXELS: std::ops::RangeInclusive<u64> = 409_600..=927_408;
/// The provider's limit of each side, in pixels.
const SIDES: std::ops::RangeInclusive<u32> = 300..=6000;
/// Spec: all videos together over 1.8 s and under 15.2 s.
const VIDEO_MS: (u64, u64) = (1800, 15_200);
/// Spec: all audio together at most 15 s; with the tolerance of the videos, as MP3 frames make a sound a little longer.
const AUDIO_MS: u64 = 15_200;

/// What a reference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Image,
    Video,
    Audio,
}

/// The rules of one kind.
struct Rules {
    kind: MediaKind,
    noun: &'static str,
    types: &'static [&'static str],
    formats: &'static str,
    max_bytes: u64,
}

impl Kind {
    fn rules(self) -> Rules {
        match self {
            Self::Image => Rules {
                kind: MediaKind::Image,
                noun: "an image",
                types: &["image/jpeg", "image/png", "image/webp", "image/bmp", "image/tiff", "image/gif"],
                formats: "JPEG, PNG, WebP, BMP, TIFF or GIF",
                max_bytes: 30 * MB,
            },
            Self::Video => Rules {
                kind: MediaKind::Video,
                noun: "a video",
                types: &["video/mp4", "video/quicktime"],
                formats: "MP4 or MOV",
                max_bytes: 50 * MB,
            },
            Self::Audio => Rules {
                kind: MediaKind::Audio,
                noun: "an audio file",
                types: &["audio/wav", "audio/mpeg"],
                formats: "WAV or MP3",
                max_bytes: 15 * MB,
            },
        }
    }

    /// The type of an asset that can stand here, as the provider spells it.
    pub(crate) fn asset_type(self) -> &'static str {
        match self {
            Self::Image => "Image",
            Self::Video => "Video",
            Self::Audio => "Audio",
        }
    }

    /// Checks one reference; the error says what was expected and what came.
    pub(crate) fn check(self, facts: &Facts) -> Result<(), String> {
        self.check_type(facts)?;
        let noun = self.rules().noun;
        match (self, facts.milliseconds) {
            (Self::Image | Self::Video, _) => self.check_frame(facts, noun),
            (Self::Audio, Some(1..)) => Ok(()),
            (Self::Audio, Some(0)) => Err(format!("expected {noun} with sound in it, got 0 s")),
            (Self::Audio, None) => Err(format!("expected {noun}, got {} of unreadable length", facts.mime)),
        }
    }

    /// Checks what is known of a file that nobody has looked into.
    pub(crate) fn check_type(self, facts: &Facts) -> Result<(), String> {
        let rules = self.rules();
        if facts.kind != rules.kind {
            return Err(format!("expected {}, got {}", rules.noun, facts.mime));
        }
        if !rules.types.contains(&facts.mime.as_str()) {
            return Err(format!("expected {} as {}, got {}", rules.noun, rules.formats, facts.mime));
        }
        if facts.bytes > rules.max_bytes {
            let (max, bytes) = (rules.max_bytes / MB, facts.bytes);
            return Err(format!("expected {} of at most {max} MB, got {bytes} bytes", rules.noun));
        }
        Ok(())
    }

    fn check_frame(self, facts: &Facts, noun: &str) -> Result<(), String> {
        let (Some(width @ 1..), Some(height @ 1..)) = (facts.width, facts.height) else {
            return Err(format!("expected {noun}, got {} of unreadable size", facts.mime));
        };
        let (w, h) = (u64::from(width), u64::from(height));
        if 2 * w < h || 2 * w > 5 * h {
            return Err(format!("expected {noun} whose width to height is 0.5 to 2.5, got {width}x{height}"));
        }
        if self == Self::Video && !VIDEO_PIXELS.contains(&(w * h)) {
            let (least, most) = (VIDEO_PIXELS.start(), VIDEO_PIXELS.end());
            return Err(format!(
                "expected {noun} of 480p to 720p ({least} to {most} pixels), got {width}x{height} ({} pixels)",
                w * h
            ));
        }
        if !SIDES.contains(&width) || !SIDES.contains(&height) {
            let (least, most) = (SIDES.start(), SIDES.end());
            return Err(format!("expected {noun} of {least} to {most} pixels a side, got {width}x{height}"));
        }
        Ok(())
    }
}

/// Checks the time of all videos together. A length that is not known (an asset, an unreadable file) is the
/// provider's to judge; the others count.
pub(crate) fn check_video_time(lengths: &[Option<u64>]) -> Result<(), String> {
    if lengths.is_empty() {
        return Ok(());
    }
    let sum: u64 = lengths.iter().flatten().sum();
    let is_too_short = lengths.iter().all(Option::is_some) && sum <= VIDEO_MS.0;
    if is_too_short || sum >= VIDEO_MS.1 {
        return Err(format!(
            "expected more than 1.8 s and less than 15.2 s of video together, got {}",
            seconds(sum)
        ));
    }
    Ok(())
}

/// Checks the time of all audio together.
pub(crate) fn check_audio_time(lengths: &[Option<u64>]) -> Result<(), String> {
    let sum: u64 = lengths.iter().flatten().sum();
    if sum > AUDIO_MS {
        return Err(format!("expected at most 15 s of audio together, got {}", seconds(sum)));
    }
    Ok(())
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03} s", ms / 1000, ms % 1000)
}
