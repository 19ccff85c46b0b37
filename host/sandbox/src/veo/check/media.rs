//! Images, references, and videos to be continued: where each may stand, and what its bytes must be. Objects of buckets can be
//! read that an operation of the account has written; there are no others.

use std::ops::RangeInclusive;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mp4_atom::{Moov, ReadFrom};
use serde_json::Value;

use super::fields::known;
use crate::veo::refusal::Refusal;

const MAX_IMAGE_BYTES: usize = 20 << 20;
const MAX_REFERENCES: usize = 3;
/// The length of a video that is continued.
const MILLISECONDS: RangeInclusive<u64> = 1000..=30_000;

/// A video that an account has at the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::veo) struct Stored {
    pub(in crate::veo) milliseconds: u64,
    pub(in crate::veo) is_tall: bool,
}

/// Checks the media of an instance; gives the length of a video that is to be continued.
pub(super) fn check(
    instance: &Value,
    parameters: &Value,
    stored: impl Fn(&str) -> Option<Stored>,
) -> Result<Option<u64>, Refusal> {
    let has = |name: &str| instance.get(name).is_some();
    if has("lastFrame") && !has("image") {
        return Err(Refusal::argument("instances[0].lastFrame needs an image"));
    }
    for name in ["image", "lastFrame"].into_iter().filter(|name| has(name)) {
        if has("video") {
            return Err(Refusal::argument(format!("instances[0].{name} cannot be combined with a video")));
        }
        image(name, &instance[name])?;
    }
    if has("referenceImages") {
        references(instance)?;
    }
    if !has("video") {
        return Ok(None);
    }
    let found = original(&instance["video"], stored)?;
    if !MILLISECONDS.contains(&found.milliseconds) {
        return Err(Refusal::argument("the video to extend is too long or too short"));
    }
    if found.is_tall != (parameters["aspectRatio"] == "9:16") {
        return Err(Refusal::argument("parameters.aspectRatio must be that of the video to extend"));
    }
    Ok(Some(found.milliseconds))
}

/// Up to three images of things that the video shows; they exclude a first or last frame and a video.
fn references(instance: &Value) -> Result<(), Refusal> {
    let invalid = |what: String| Err(Refusal::argument(format!("instances[0].referenceImages{what}")));
    if let Some(other) = ["image", "lastFrame", "video"].iter().find(|name| instance.get(*name).is_some()) {
        return invalid(format!(" cannot be combined with {other}"));
    }
    let items = instance["referenceImages"].as_array().map(Vec::as_slice).unwrap_or_default();
    if items.is_empty() || items.len() > MAX_REFERENCES {
        return invalid(format!(" must be a list of 1 to {MAX_REFERENCES}"));
    }
    for (at, item) in items.iter().enumerate() {
        let Some(fields) = item.as_object() else { return invalid(format!("[{at}] must be an object")) };
        known(&format!("instances[0].referenceImages[{at}]"), fields, &["image", "referenceType"])?;
        if !item["referenceType"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("asset")) {
            return invalid(format!("[{at}].referenceType must be asset"));
        }
        image(&format!("referenceImages[{at}].image"), &item["image"])?;
    }
    Ok(())
}

fn image(name: &str, image: &Value) -> Result<(), Refusal> {
    let invalid = |what: &str| Refusal::argument(format!("instances[0].{name} {what}"));
    let fields = image.as_object().ok_or_else(|| invalid("must be an object"))?;
    known(&format!("instances[0].{name}"), fields, &["bytesBase64Encoded", "gcsUri", "mimeType"])?;
    if image["gcsUri"].is_string() {
        return Err(invalid("cannot be read: there is no such image in the bucket"));
    }
    let bytes = bytes(image).ok_or_else(|| invalid("has no bytes in base64"))?;
    if bytes.len() > MAX_IMAGE_BYTES {
        return Err(invalid("is larger than 20 MB"));
    }
    let is = |begin: &[u8]| bytes.starts_with(begin) && imagesize::blob_size(&bytes).is_ok();
    let fits = match image["mimeType"].as_str() {
        Some("image/png") => is(b"\x89PNG\r\n\x1a\n"),
        Some("image/jpeg") => is(b"\xff\xd8\xff"),
        _ => return Err(invalid("must be of the type image/jpeg or image/png")),
    };
    if fits { Ok(()) } else { Err(invalid("is not of the type it says")) }
}

fn original(video: &Value, stored: impl Fn(&str) -> Option<Stored>) -> Result<Stored, Refusal> {
    let invalid = |what: &str| Refusal::argument(format!("instances[0].video {what}"));
    let fields = video.as_object().ok_or_else(|| invalid("must be an object"))?;
    known("instances[0].video", fields, &["bytesBase64Encoded", "gcsUri", "mimeType"])?;
    if video["mimeType"] != "video/mp4" {
        return Err(invalid("must be of the type video/mp4"));
    }
    if let Some(uri) = video["gcsUri"].as_str() {
        return stored(uri).ok_or_else(|| invalid("cannot be read"));
    }
    let bytes = bytes(video).ok_or_else(|| invalid("has no bytes in base64"))?;
    film(&bytes).ok_or_else(|| invalid("is no mp4 of 16:9 or 9:16"))
}

fn bytes(medium: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(medium["bytesBase64Encoded"].as_str().filter(|text| !text.is_empty())?).ok()
}

/// Length and direction of a film, by its tables.
fn film(bytes: &[u8]) -> Option<Stored> {
    let mut rest = bytes;
    let moov: Moov = loop {
        match mp4_atom::Any::read_from(&mut rest).ok()? {
            mp4_atom::Any::Moov(moov) => break moov,
            _ if rest.is_empty() => return None,
            _ => {}
        }
    };
    let tkhd = &moov.trak.iter().find(|trak| trak.tkhd.width.integer() > 0)?.tkhd;
    let (width, height) = (u32::from(tkhd.width.integer()), u32::from(tkhd.height.integer()));
    let is_of = |long: u32, short: u32| long * 9 == short * 16;
    if !is_of(width, height) && !is_of(height, width) {
        return None;
    }
    let milliseconds = moov.mvhd.duration * 1000 / u64::from(moov.mvhd.timescale.max(1));
    Some(Stored { milliseconds, is_tall: height > width })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use gatehouse_sandbox_files::Film;

    #[test]
    fn a_film_is_continued_within_limits() {
        let sent = |width, height, milliseconds| {
            let film = Film { width, height, milliseconds, sound: true, colour: [1, 2, 3] };
            json!({"prompt": "a", "video": {"bytesBase64Encoded": STANDARD.encode(film.mp4()), "mimeType": "video/mp4"}})
        };
        let wide = json!({"aspectRatio": "16:9"});
        let check = |instance: &Value, parameters: &Value| {
            check(instance, parameters, |_| None).map_err(|refusal| refusal.message)
        };
        for (instance, parameters, expected) in [
            (sent(64, 36, 1000), &wide, Some(1000)),
            (sent(64, 36, 30_000), &wide, Some(30_000)),
            (sent(36, 64, 8000), &json!({"aspectRatio": "9:16"}), Some(8000)),
            (sent(64, 36, 999), &wide, None),
            (sent(64, 36, 30_001), &wide, None),
            (sent(36, 64, 8000), &wide, None),
            (sent(64, 64, 8000), &wide, None),
            (
                json!({"prompt": "a", "video": {"gcsUri": "gs://b/a.mp4", "mimeType": "video/mp4"}}),
                &wide,
                None,
            ),
            (json!({"prompt": "a", "video": {"uri": "gs://b/a.mp4"}}), &wide, None),
            (json!({"prompt": "a", "lastFrame": {}}), &wide, None),
        ] {
            assert_eq!(check(&instance, parameters).ok().flatten(), expected);
        }
    }

    #[test]
    fn references_are_up_to_three_images_and_nothing_beside() {
        let picture = gatehouse_sandbox_files::Picture {
            width: 64,
            height: 36,
            format: image::ImageFormat::Png,
            digest: [1; 32],
        };
        let png = STANDARD.encode(picture.encode().expect("encodes"));
        let image = || json!({"bytesBase64Encoded": png, "mimeType": "image/png"});
        let one = |kind: &str| json!({"image": image(), "referenceType": kind});
        let with = |list: Value| json!({"prompt": "a", "referenceImages": list});
        let mut beside = with(json!([one("asset")]));
        beside["image"] = image();
        for (instance, expected) in [
            (with(json!([one("asset")])), ""),
            (with(json!([one("ASSET"), one("asset"), one("asset")])), ""),
            (with(json!([])), "must be a list of 1 to 3"),
            (with(json!(vec![one("asset"); 4])), "must be a list of 1 to 3"),
            (with(json!([one("STYLE")])), "[0].referenceType must be asset"),
            (
                with(
                    json!([{"image": {"gcsUri": "gs://b/a.png", "mimeType": "image/png"}, "referenceType": "asset"}]),
                ),
                "referenceImages[0].image cannot be read",
            ),
            (beside, "cannot be combined with image"),
        ] {
            let came = check(&instance, &json!({}), |_| None).err();
            let said = came.map(|refusal| refusal.message).unwrap_or_default();
            assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{said}");
        }
    }
}
