//! A request for motion-2.6.

use gatehouse_sdk::params::{either, known_media, read};
use gatehouse_sdk::{Facts, InvalidParam, MediaKind};
use serde_json::{Map, Value, json};

use super::{Mode, Model, VideoRequest, needed, put, whole_seconds, without};
use crate::media_rules::{Check, Rule};
use crate::params::{Params26, Ratio, Resolution26 as Resolution};
use crate::sources;

pub(super) fn request(body: &Value, blobs: &[Facts]) -> Result<VideoRequest, InvalidParam> {
    // An effect has no prompt: the spec ignores it.
    let ignored: &[&str] = if body["template"].is_null() { &[] } else { &["prompt"] };
    let params: Params26 = read(&without(body, ignored))?;
    known_media(body, &["image_urls", "audio_url"])?;
    let image = params.image_urls.and_then(|urls| urls.into_iter().next());
    let mode = match (&image, params.template) {
        (None, Some(template)) => {
            let problem = format!("expected one image for the template `{template}`, got nothing");
            return Err(InvalidParam::at(Some("image_urls"), problem));
        }
        (None, None) => Mode::Text,
        (Some(_), None) => Mode::Image,
        (Some(_), Some(_)) => Mode::Effects,
    };
    let asked = either(body, "aspect_ratio", params.aspect_ratio, "size", params.size)?;
    let (ratio, field) = asked.unwrap_or_default();
    if mode != Mode::Text && ratio != Ratio::default() {
        let problem = format!("not supported with an image, whose ratio the video has; got {}", json!(ratio));
        return Err(InvalidParam::at(Some(field), problem));
    }
    let resolution = params.resolution.unwrap_or_default();
    let seconds = whole_seconds(params.duration);

    let (mut input, mut parameters) = (Map::new(), Map::new());
    if mode == Mode::Text {
        needed(params.prompt.as_deref())?;
        put(&mut parameters, "size", Some(frame_size(ratio, resolution)));
    } else {
        let height = if resolution == Resolution::P1080 { "1080P" } else { "720P" };
        put(&mut parameters, "resolution", Some(height));
    }
    // Nothing about prompts is sent with an effect.
    if mode != Mode::Effects {
        put(&mut input, "prompt", params.prompt);
        put(&mut input, "negative_prompt", params.negative_prompt);
        put(&mut parameters, "prompt_extend", params.prompt_extend);
        put(&mut parameters, "shot_type", params.shot_type.map(|shots| json!(shots)));
    }
    if let Some(image) = image {
        let (image, _) = sources::settle("image_urls[0]", image, MediaKind::Image, blobs)?;
        put(&mut input, "img_url", Some(image));
    }
    put(&mut input, "template", params.template.map(|template| json!(template)));
    put(&mut parameters, "duration", Some(seconds));
    put(&mut parameters, "watermark", params.watermark);
    put(&mut parameters, "seed", params.seed);
    let check = match params.audio_url {
        Some(source) => {
            let check = sound(source, seconds, blobs)?;
            put(&mut input, "audio_url", Some(check.source.as_str()));
            // What the host knows already has been checked.
            (!check.source.starts_with("blob:")).then_some(check)
        }
        None => {
            put(&mut parameters, "audio", params.audio);
            None
        }
    };
    let is_1080 = resolution == Resolution::P1080;
    Ok(VideoRequest { model: Model::Motion26, mode, input, parameters, seconds, is_1080, check })
}

fn sound(source: String, seconds: u32, blobs: &[Facts]) -> Result<Check, InvalidParam> {
    let (source, facts) = sources::settle("audio_url", source, MediaKind::Audio, blobs)?;
    let check = Check { source, rule: Rule::Sound, seconds: Some(seconds) };
    if let Some(facts) = facts {
        check.apply(facts)?;
    }
    Ok(check)
}

/// The spec's table of frame sizes, as the provider writes them.
fn frame_size(ratio: Ratio, resolution: Resolution) -> &'static str {
    let (small, large) = match ratio {
        Ratio::Wide => ("1280*720", "1920*1080"),
        Ratio::Tall => ("720*1280", "1080*1920"),
        Ratio::Square => ("960*960", "1440*1440"),
        Ratio::Landscape => ("1088*832", "1632*1248"),
        Ratio::Portrait => ("832*1088", "1248*1632"),
    };
    if resolution == Resolution::P1080 { large } else { small }
}
