//! Sources of media: where each may stand, and what is found when it is fetched.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use imagesize::ImageType;
use serde_json::Value;

use super::fields::Model;
use crate::common::links;
use crate::common::sample_media::SampleMedia;
use crate::common::samples::named_size;
use crate::dashscope::faults::Refusal;
use gatehouse_sandbox_files::Film;

const MAX_IMAGE_BYTES: u64 = 10 << 20;
const MAX_SOUND_BYTES: u64 = 15 << 20;
const MAX_CLIP_BYTES: u64 = 100 << 20;
/// Where a PNG says what its pixels are; 4 and 6 have transparency.
const PNG_COLOUR: usize = 25;
/// Sets of media types that Wan 2.7 accepts.
const SETS: &[&[&str]] = &[
    &["first_frame"],
    &["first_frame", "driving_audio"],
    &["first_frame", "last_frame"],
    &["first_frame", "last_frame", "driving_audio"],
    &["first_clip"],
    &["first_clip", "last_frame"],
];

/// A source and what it is for.
pub(super) struct Medium {
    kind: Kind,
    found: Found,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Image,
    Sound,
    Clip,
}

/// What fetching a source finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Not one of the sandbox's own: whatever it should be.
    Anything,
    Nothing,
    /// No image, sound or video.
    Unreadable,
    Image {
        width: u32,
        height: u32,
        bytes: u64,
    },
    Sound {
        milliseconds: u64,
        bytes: u64,
    },
    Video {
        width: u32,
        height: u32,
        milliseconds: u64,
        bytes: u64,
    },
}

impl Medium {
    pub(super) fn is_sound(&self) -> bool {
        self.kind == Kind::Sound
    }

    /// Sides in pixels.
    pub(super) fn frame(&self) -> (u32, u32) {
        match self.found {
            Found::Image { width, height, .. } | Found::Video { width, height, .. } => (width, height),
            _ => (1280, 720),
        }
    }

    pub(super) fn clip_milliseconds(&self) -> Option<u64> {
        match (self.kind, self.found) {
            (Kind::Clip, Found::Video { milliseconds, .. }) => Some(milliseconds),
            _ => None,
        }
    }
}

/// The media of an input; refuses what can be seen without fetching.
pub(super) fn of(model: Model, input: &Value, samples: &str) -> Result<Vec<Medium>, Refusal> {
    let mut media = Vec::new();
    let mut add = |kind, field: &str, url: &Value| {
        let found = source(field, url, samples)?;
        media.push(Medium { kind, found });
        Ok(())
    };
    if model == Model::Image26 {
        add(Kind::Image, "input.img_url", &input["img_url"])?;
    }
    if !input["audio_url"].is_null() {
        add(Kind::Sound, "input.audio_url", &input["audio_url"])?;
    }
    if model == Model::Image27 {
        let items = input["media"].as_array().map(Vec::as_slice).unwrap_or_default();
        let types: Vec<&str> = items.iter().map(|item| item["type"].as_str().unwrap_or_default()).collect();
        let is_set = |set: &&&[&str]| set.len() == types.len() && set.iter().all(|word| types.contains(word));
        if SETS.iter().find(is_set).is_none() {
            return Err(Refusal::parameter(format!("input.media: the types {types:?} cannot be combined")));
        }
        for item in items {
            let kind = match item["type"].as_str() {
                Some("first_clip") => Kind::Clip,
                Some("driving_audio") => Kind::Sound,
                _ => Kind::Image,
            };
            add(kind, "input.media.url", &item["url"])?;
        }
    }
    Ok(media)
}

/// What a source is.
fn source(field: &str, url: &Value, samples: &str) -> Result<Found, Refusal> {
    let invalid = |what: &str| Refusal::new(400, "InvalidURL", format!("{field} {what}"));
    let url = url.as_str().filter(|url| !url.is_empty()).ok_or_else(|| invalid("is required"))?;
    if let Some(data) = url.strip_prefix("data:") {
        let (_, data) = data.split_once(";base64,").ok_or_else(|| invalid("is no base64 data URI"))?;
        let bytes = STANDARD.decode(data).map_err(|_| invalid("is no base64"))?;
        return Ok(bytes_are(&bytes));
    }
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(invalid("must be an http or https URL, or a data URI"));
    }
    let elsewhere = || if links::is_there(url) { Found::Anything } else { Found::Nothing };
    let sample = url.strip_prefix(samples).and_then(|path| path.strip_prefix("/samples/"));
    Ok(sample.map_or_else(elsewhere, sample_is))
}

fn bytes_are(bytes: &[u8]) -> Found {
    let length = bytes.len() as u64;
    match imagesize::blob_size(bytes) {
        Ok(_) if !is_read(bytes) => Found::Unreadable,
        Ok(size) => Found::Image {
            width: u32::try_from(size.width).unwrap_or(u32::MAX),
            height: u32::try_from(size.height).unwrap_or(u32::MAX),
            bytes: length,
        },
        // Only images are looked into.
        Err(_) if bytes.get(4..8) == Some(b"ftyp") || bytes.starts_with(b"RIFF") => Found::Anything,
        Err(_) => Found::Unreadable,
    }
}

/// The provider reads JPEG, BMP, WebP, and PNG without transparency.
fn is_read(image: &[u8]) -> bool {
    let is_opaque = || !matches!(image.get(PNG_COLOUR), Some(4 | 6));
    match imagesize::image_type(image) {
        Ok(ImageType::Jpeg | ImageType::Bmp | ImageType::Webp) => true,
        Ok(ImageType::Png) => is_opaque(),
        _ => false,
    }
}

/// What a sample is, by its name.
fn sample_is(name: &str) -> Found {
    let (name, query) = name.split_once('?').unwrap_or((name, ""));
    let padded = query.strip_prefix("bytes=").and_then(|bytes| bytes.parse().ok());
    let bytes = padded.unwrap_or(100_000);
    if let Some(media) = SampleMedia::named(name) {
        return match media {
            SampleMedia::Mp4(film) | SampleMedia::Mov(film) => {
                let Film { width, height, milliseconds, .. } = film;
                Found::Video { width, height, milliseconds, bytes }
            }
            SampleMedia::Sound(sound) => Found::Sound { milliseconds: sound.milliseconds, bytes },
        };
    }
    match (named_size(name), name) {
        (Some((width, height, _)), _) => Found::Image { width, height, bytes },
        (None, "huge") => Found::Image { width: 512, height: 512, bytes: 32 << 20 },
        (None, "not-an-image") => Found::Unreadable,
        (None, "redirect" | "slow") => Found::Image { width: 512, height: 512, bytes },
        _ => Found::Nothing,
    }
}

/// What a task fails for, once its media are fetched.
pub(super) fn judge(model: Model, media: &[Medium], seconds: u64) -> Result<(), Refusal> {
    media.iter().try_for_each(|medium| {
        let file = |code, message: &str| Err(Refusal::new(400, code, message));
        match (medium.kind, medium.found) {
            (_, Found::Anything) => Ok(()),
            (_, Found::Nothing) => file(
                "InvalidParameter.DataInspection",
                "Unable to download the media resource during the data inspection process.",
            ),
            (Kind::Image, Found::Image { width, height, bytes }) => {
                if bytes > MAX_IMAGE_BYTES {
                    return file("InvalidFile.Size", "The image must not be larger than 10 MB.");
                }
                if !(240..=8000).contains(&width) || !(240..=8000).contains(&height) {
                    return file("InvalidParameter", "The sides of the image must be 240 to 8000 pixels.");
                }
                Ok(())
            }
            (Kind::Sound, Found::Sound { milliseconds, bytes }) => {
                let least = if model.is_26() { 3000 } else { 2000 };
                if bytes > MAX_SOUND_BYTES {
                    return file("InvalidFile.Size", "The audio must not be larger than 15 MB.");
                }
                if !(least..=30_000).contains(&milliseconds) {
                    return file("InvalidFile.Duration", "The length of the audio is not supported.");
                }
                Ok(())
            }
            (Kind::Clip, Found::Video { width, height, milliseconds, bytes }) => {
                if bytes > MAX_CLIP_BYTES {
                    return file("InvalidFile.Size", "The video must not be larger than 100 MB.");
                }
                if !(2000..=10_000).contains(&milliseconds) {
                    return file("InvalidFile.Duration", "The length of the video must be 2 to 10 s.");
                }
                let (short, long) = (width.min(height), width.max(height));
                if short < 240 || long > 4096 || long > 8 * short {
                    return file("InvalidParameter", "The size of the video is not supported.");
                }
                if milliseconds >= seconds * 1000 {
                    return file(
                        "InvalidParameter",
                        "parameters.duration must exceed the length of the video.",
                    );
                }
                Ok(())
            }
            _ => file("InvalidFile.Format", "The format of the file is not supported."),
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SAMPLES: &str = "http://127.0.0.1:9";

    fn outcome(model: Model, input: &Value) -> Result<(), String> {
        let media = of(model, input, SAMPLES).map_err(|refusal| refusal.code.to_owned())?;
        judge(model, &media, 5).map_err(|refusal| format!("later {}", refusal.code))
    }

    #[test]
    fn samples_are_what_their_names_say() {
        for (name, expected) in [
            ("512x512.png", Ok(())),
            ("240x8000.png", Ok(())),
            ("239x512.png", Err("later InvalidParameter")),
            ("512x8001.png", Err("later InvalidParameter")),
            ("huge", Err("later InvalidFile.Size")),
            ("missing", Err("later InvalidParameter.DataInspection")),
            ("not-an-image", Err("later InvalidFile.Format")),
            ("5s.wav", Err("later InvalidFile.Format")),
        ] {
            let input = json!({"img_url": format!("{SAMPLES}/samples/{name}")});
            assert_eq!(outcome(Model::Image26, &input), expected.map_err(str::to_owned), "{name}");
        }
        for (name, expected) in [
            ("3s.wav", Ok(())),
            ("30s.mp3", Ok(())),
            ("2999ms.wav", Err("later InvalidFile.Duration")),
            ("30001ms.wav", Err("later InvalidFile.Duration")),
            ("5s.wav?bytes=15728641", Err("later InvalidFile.Size")),
            ("512x512.png", Err("later InvalidFile.Format")),
        ] {
            let input = json!({"prompt": "a", "audio_url": format!("{SAMPLES}/samples/{name}")});
            assert_eq!(outcome(Model::Text26, &input), expected.map_err(str::to_owned), "{name}");
        }
        for (name, expected) in [
            ("240x1920-2s.mp4", Ok(())),
            ("4096x512-4999ms.mov", Ok(())),
            ("640x480-5s.mp4", Err("later InvalidParameter")),
            ("640x480-1999ms.mp4", Err("later InvalidFile.Duration")),
            ("239x480-3s.mp4", Err("later InvalidParameter")),
            ("4097x600-3s.mp4", Err("later InvalidParameter")),
            ("240x1921-3s.mp4", Err("later InvalidParameter")),
            ("640x480-3s.mp4?bytes=104857601", Err("later InvalidFile.Size")),
            ("640x480-3s.mp4?bytes=104857600", Ok(())),
        ] {
            let input =
                json!({"media": [{"type": "first_clip", "url": format!("{SAMPLES}/samples/{name}")}]});
            assert_eq!(outcome(Model::Image27, &input), expected.map_err(str::to_owned), "{name}");
        }
    }

    #[test]
    fn only_six_sets_of_media_are_legal() {
        let words = ["first_frame", "last_frame", "driving_audio", "first_clip"];
        let mut legal = 0;
        for set in 0..16 {
            let chosen = (0..4).filter(|at| set >> at & 1 == 1).map(|at| words[at]);
            let media: Vec<_> = chosen.map(|word| json!({"type": word, "url": "https://e.com/a"})).collect();
            legal += usize::from(outcome(Model::Image27, &json!({"media": media})).is_ok());
        }
        assert_eq!(legal, 6);
        let twice = json!({"media": [{"type": "first_frame", "url": "https://e.com/a"}, {"type": "first_frame", "url": "https://e.com/b"}]});
        assert_eq!(outcome(Model::Image27, &twice), Err("InvalidParameter".to_owned()));
    }

    #[test]
    fn pictures_are_read_in_four_formats_and_without_transparency() {
        let png = |colour: u8| {
            let head = [&b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x02\0\0\0\x02\0\x08"[..], &[colour, 0, 0, 0]];
            head.concat()
        };
        let gif = b"GIF89a\0\x02\0\x02\0\0\0".to_vec();
        for (bytes, expected) in [
            (png(0), Ok(())),
            (png(2), Ok(())),
            (png(4), Err("later InvalidFile.Format")),
            (png(6), Err("later InvalidFile.Format")),
            (gif, Err("later InvalidFile.Format")),
        ] {
            let url = format!("data:image/png;base64,{}", STANDARD.encode(&bytes));
            let came = outcome(Model::Image26, &json!({"img_url": url}));
            assert_eq!(came, expected.map_err(str::to_owned), "{bytes:?}");
        }
    }

    #[test]
    fn sources_are_urls_or_base64() {
        for (url, expected) in [
            (json!("https://e.com/a.png"), Ok(())),
            (json!("https://nohost.invalid/x.png"), Err("later InvalidParameter.DataInspection")),
            (json!("http://10.0.0.1/x.png"), Err("later InvalidParameter.DataInspection")),
            (json!("oss://bucket/a.png"), Err("InvalidURL")),
            (json!("data:image/png;base64,@"), Err("InvalidURL")),
            (json!("data:text/plain;base64,aGVsbG8="), Err("later InvalidFile.Format")),
            (json!(null), Err("InvalidURL")),
            (json!(""), Err("InvalidURL")),
        ] {
            assert_eq!(
                outcome(Model::Image26, &json!({"img_url": url})),
                expected.map_err(str::to_owned),
                "{url}"
            );
        }
    }
}
