//! A request for motion-2.7: any image or video makes it image-to-video (spec, "Routing").

use gatehouse_sdk::params::{either, known_media, read, with_first_of};
use gatehouse_sdk::{Facts, InvalidParam, MediaKind};
use serde_json::{Map, Value, json};

use super::{Mode, Model, VideoRequest, conflict, list_conflict, needed, put, whole_seconds, without};
use crate::media_rules::{Check, MAX_SECONDS, Rule};
use crate::params::{Params27, Ratio, Resolution27 as Resolution, Role, RoleImage};
use crate::sources;

pub(super) fn request(body: &Value, blobs: &[Facts]) -> Result<VideoRequest, InvalidParam> {
    // With an image or a video the ratio is ignored (spec).
    let ignored: &[&str] = if has_media(body) { &["size", "aspect_ratio"] } else { &[] };
    // Only the first video is used (spec).
    let params: Params27 = read(&with_first_of(without(body, ignored), "video_urls"))?;
    known_media(body, &["image_urls", "image_with_roles", "video_urls", "audio_url"])?;
    let size = either(body, "size", params.size, "aspect_ratio", params.aspect_ratio)?;
    let images = params.image_urls.unwrap_or_default();
    let role_images = params.image_with_roles.unwrap_or_default();
    let videos = params.video_urls.unwrap_or_default();
    let given =
        [("image_urls", images.len()), ("image_with_roles", role_images.len()), ("video_urls", videos.len())];
    if let Some(url) = &params.audio_url
        && let Some((other, _)) = given.iter().find(|(_, length)| *length > 0)
    {
        return Err(conflict("audio_url", other, &json!(url)));
    }
    if !images.is_empty() && !role_images.is_empty() {
        return Err(list_conflict("image_with_roles", "image_urls", role_images.len()));
    }
    let mut seconds = whole_seconds(params.duration);
    let mode = if given.iter().any(|(_, length)| *length > 0) { Mode::Image } else { Mode::Text };

    let (mut input, mut parameters) = (Map::new(), Map::new());
    let mut check = None;
    if mode == Mode::Text {
        needed(params.prompt.as_deref())?;
        put(&mut parameters, "ratio", Some(json!(size.map_or_else(Ratio::default, |(size, _)| size))));
        if let Some(source) = params.audio_url {
            let (source, _) = sources::settle("audio_url", source, MediaKind::Audio, blobs)?;
            put(&mut input, "audio_url", Some(source));
        }
    } else {
        let frames = frames(images, &role_images, !videos.is_empty(), blobs)?;
        let mut media: Vec<Value> = Vec::new();
        if let Some(video) = videos.into_iter().next() {
            let (source, facts) = sources::settle("video_urls[0]", video, MediaKind::Video, blobs)?;
            let clip = Check { source, rule: Rule::Clip, seconds: params.duration.map(|_| seconds) };
            let follows = facts.map(|facts| clip.apply(facts)).transpose()?.flatten();
            if clip.seconds.is_none() {
                seconds = follows.unwrap_or(MAX_SECONDS);
            }
            media.push(json!({"type": "first_clip", "url": clip.source}));
            check = facts.is_none().then_some(clip);
        }
        media.extend(frames.into_iter().map(|(role, url)| json!({"type": role, "url": url})));
        put(&mut input, "media", Some(media));
    }
    put(&mut input, "prompt", params.prompt);
    put(&mut input, "negative_prompt", params.negative_prompt);
    let is_1080 = params.resolution.unwrap_or_default() == Resolution::P1080;
    put(&mut parameters, "resolution", Some(if is_1080 { "1080P" } else { "720P" }));
    put(&mut parameters, "duration", Some(seconds));
    put(&mut parameters, "prompt_extend", Some(params.prompt_extend.unwrap_or(true)));
    put(&mut parameters, "watermark", Some(params.watermark.unwrap_or(false)));
    put(&mut parameters, "seed", params.seed);
    Ok(VideoRequest { model: Model::Motion27, mode, input, parameters, seconds, is_1080, check })
}

/// Spec, "Routing": what makes it image-to-video.
fn has_media(body: &Value) -> bool {
    let lists = ["image_urls", "image_with_roles", "video_urls"];
    lists.into_iter().any(|field| body[field].as_array().is_some_and(|list| !list.is_empty()))
}

/// The images and their roles, in the provider's legal sets: a first picture, a first and a last, or a last beside a video.
fn frames(
    images: Vec<String>,
    role_images: &[RoleImage],
    has_video: bool,
    blobs: &[Facts],
) -> Result<Vec<(Role, String)>, InvalidParam> {
    if has_video && !images.is_empty() {
        return Err(list_conflict("image_urls", "video_urls", images.len()));
    }
    let mut frames = Vec::new();
    for ((at, image), role) in images.into_iter().enumerate().zip([Role::FirstFrame, Role::LastFrame]) {
        let (image, _) = sources::settle(&format!("image_urls[{at}]"), image, MediaKind::Image, blobs)?;
        frames.push((role, image));
    }
    for (at, image) in role_images.iter().enumerate() {
        let role = image.role.unwrap_or_default();
        let invalid = |expected: &str| {
            let problem = format!("expected {expected}, got {}", json!(role));
            Err(InvalidParam::at(Some(&format!("image_with_roles[{at}].role")), problem))
        };
        if frames.iter().any(|(other, _)| *other == role) {
            return invalid("another role than that of the image before");
        }
        if has_video && role == Role::FirstFrame {
            return invalid("`last_frame` together with `video_urls`, which is the beginning");
        }
        if !has_video && role == Role::LastFrame && role_images.len() == 1 {
            return invalid("a `first_frame`, too, or a video in `video_urls`");
        }
        let (url, _) = sources::settle("", image.url.clone(), MediaKind::Image, blobs)?;
        frames.push((role, url));
    }
    Ok(frames)
}
