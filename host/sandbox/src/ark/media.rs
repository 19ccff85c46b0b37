//! What the provider finds out about media: of the sandbox's own samples by their names, of `data:` URIs by their bytes.
//! Any other URL counts as a file that fits where its host can be there ([`links`]), because a sandbox fetches nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::common::links;
use crate::common::sample_media::SampleMedia;
use crate::common::samples::named_size;
use gatehouse_sandbox_files::Film;

/// Limits of the public documentation (Seedance 2.0, "media limits").
const SIDES: std::ops::RangeInclusive<u32> = 300..=6000;
const VIDEO_PIXELS: std::ops::RangeInclusive<u64> = 409_600..=927_408;
const VIDEO_PIXELS_FOR_1080P: u64 = 2_073_600;
const MAX_IMAGE_BYTES: usize = 30 << 20;
const MAX_AUDIO_BYTES: usize = 15 << 20;
/// Of one video or audio, and of all of a kind; the documented 2 to 15 s with the real tolerance.
pub(crate) const MILLISECONDS: std::ops::RangeInclusive<u64> = 1800..=15_200;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum File {
    Image(u32, u32),
    Film(Film),
    /// Milliseconds.
    Sound(u64),
    /// It cannot be fetched.
    Missing,
    /// Another type.
    Other,
    /// Nothing is known of it.
    Unknown,
}

/// The file behind a URL or in a `data:` URI.
pub(crate) fn look(url: &str, samples: &str) -> File {
    if let Some(encoded) = url.strip_prefix("data:") {
        return embedded(encoded);
    }
    let Some(name) = url.strip_prefix(samples).and_then(|path| path.strip_prefix("/samples/")) else {
        return if links::is_there(url) { File::Unknown } else { File::Missing };
    };
    let name = name.split('?').next().unwrap_or_default();
    match (name, SampleMedia::named(name), named_size(name)) {
        (_, Some(SampleMedia::Mp4(film) | SampleMedia::Mov(film)), _) => File::Film(film),
        (_, Some(SampleMedia::Sound(sound)), _) => File::Sound(sound.milliseconds),
        (_, None, Some((width, height, _))) => File::Image(width, height),
        ("not-an-image", ..) => File::Other,
        _ => File::Missing,
    }
}

fn embedded(encoded: &str) -> File {
    let Some((mime, data)) = encoded.split_once(";base64,") else { return File::Other };
    let Ok(bytes) = STANDARD.decode(data) else { return File::Other };
    match imagesize::blob_size(&bytes) {
        Ok(size) if bytes.len() < MAX_IMAGE_BYTES => {
            let side = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
            File::Image(side(size.width), side(size.height))
        }
        Err(_) if mime.starts_with("audio/") && bytes.len() <= MAX_AUDIO_BYTES => File::Unknown,
        _ => File::Other,
    }
}

/// Why a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// As the review of an asset writes it.
    pub(crate) code: &'static str,
    pub(crate) text: String,
}

impl Problem {
    fn missing(what: &str) -> Self {
        Self { code: "InvalidParameter.DownloadFailed", text: format!("the {what} could not be downloaded") }
    }

    fn unfit(text: String) -> Self {
        Self { code: "InvalidAsset", text }
    }

    fn format(what: &str) -> Self {
        Self::unfit(format!("the format of the {what} is not supported"))
    }

    /// Moderation has stopped it.
    pub(crate) fn sensitive() -> Self {
        Self { code: "SensitiveContentDetected", text: "The content may be sensitive.".to_owned() }
    }
}

/// Checks an image.
pub(crate) fn check_image(file: File) -> Result<(), Problem> {
    match file {
        File::Unknown => Ok(()),
        File::Image(width, height) => check_sides(width, height),
        File::Missing => Err(Problem::missing("image")),
        _ => Err(Problem::format("image")),
    }
}

/// Checks a video for a resolution of the output, and gives its milliseconds.
pub(crate) fn check_video(file: File, resolution: &str) -> Result<Option<u64>, Problem> {
    let film = match file {
        File::Unknown => return Ok(None),
        File::Film(film) => film,
        File::Missing => return Err(Problem::missing("video")),
        _ => return Err(Problem::format("video")),
    };
    check_sides(film.width, film.height)?;
    let pixels = u64::from(film.width) * u64::from(film.height);
    let most = if resolution == "1080p" { VIDEO_PIXELS_FOR_1080P } else { *VIDEO_PIXELS.end() };
    if pixels < *VIDEO_PIXELS.start() || pixels > most {
        let least = VIDEO_PIXELS.start();
        return Err(Problem::unfit(format!("the video must have {least} to {most} pixels, got {pixels}")));
    }
    check_time(film.milliseconds, "video").map(Some)
}

/// Checks a sound, and gives its milliseconds.
pub(crate) fn check_sound(file: File) -> Result<Option<u64>, Problem> {
    match file {
        File::Unknown => Ok(None),
        File::Sound(milliseconds) => check_time(milliseconds, "audio").map(Some),
        File::Missing => Err(Problem::missing("audio")),
        _ => Err(Problem::format("audio")),
    }
}

fn check_time(milliseconds: u64, what: &str) -> Result<u64, Problem> {
    if MILLISECONDS.contains(&milliseconds) {
        return Ok(milliseconds);
    }
    Err(Problem::unfit(format!("the {what} must have 1.8 to 15.2 seconds, got {milliseconds} ms")))
}

fn check_sides(width: u32, height: u32) -> Result<(), Problem> {
    if !SIDES.contains(&width) || !SIDES.contains(&height) {
        let text = format!("expected a width and a height of 300 to 6000 px, received {width}x{height}");
        return Err(Problem::unfit(text));
    }
    let (w, h) = (u64::from(width), u64::from(height));
    if 5 * w < 2 * h || 2 * w > 5 * h {
        let text = format!("expected a width to height of 0.4 to 2.5, received {width}x{height}");
        return Err(Problem::unfit(text));
    }
    Ok(())
}
