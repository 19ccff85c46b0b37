//! New videos, from a text or from frames.

use gatehouse_sdk::params::{came, either, known_media, read};
use gatehouse_sdk::{InvalidParam, Submission};
use serde_json::{Value, json};

use super::{Input, VideoKind, VideoRequest, common};
use crate::params::VideoParams;
use crate::sources::Image;
use crate::words::Resize;

/// The spec's default.
const SECONDS: i64 = 8;

pub(super) fn request(request: &Submission) -> Result<VideoRequest, InvalidParam> {
    let params: VideoParams = read(&request.body)?;
    let body = &request.body;
    known_media(body, &["first_frame_image", "last_frame_image"])?;
    let samples = samples(body, &params)?;
    let aspect = either(body, "aspect_ratio", params.aspect_ratio, "size", params.size)?;
    let seconds = params.duration.unwrap_or(SECONDS);
    let input = input(&params, request)?;
    let resize = match (&input, params.resize_mode) {
        (Input::Text, Some(Resize::Crop)) => {
            let problem =
                "not supported without an image, expected `pad` or nothing, got the string \"crop\"";
            return Err(InvalidParam::at(Some("resize_mode"), problem.to_owned()));
        }
        (Input::Text, _) => None,
        (_, mode) => Some(mode.unwrap_or_default()),
    };
    // A rule's range says that they fit.
    let whole = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    let kind = VideoKind {
        seconds: whole(seconds),
        milliseconds: u64::from(whole(seconds)) * 1000,
        hidden_milliseconds: 0,
        samples: whole(samples),
        aspect: aspect.map(|(aspect, _)| aspect).unwrap_or_default(),
        resolution: params.resolution.unwrap_or_default(),
        audio: params.generate_audio.unwrap_or(false),
        people: params.person_generation.unwrap_or_default(),
    };
    let mut parameters = common(&kind);
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            parameters.insert(name.to_owned(), value);
        }
    };
    put("durationSeconds", Some(seconds.into()));
    put("negativePrompt", params.negative_prompt.map(Value::from));
    put("seed", params.seed.map(Value::from));
    put("resizeMode", resize.map(|mode| json!(mode)));
    Ok(VideoRequest { model: params.model, prompt: params.prompt, input, parameters, kind })
}

fn samples(body: &Value, params: &VideoParams) -> Result<i64, InvalidParam> {
    let count = either(body, "sample_count", params.sample_count, "n", params.n)?;
    Ok(count.map_or(1, |(count, _)| count))
}

fn input(params: &VideoParams, request: &Submission) -> Result<Input, InvalidParam> {
    let image = |field: &str, source: &String| Image::read(field, source.clone(), &request.blobs);
    match (&params.first_frame_image, &params.last_frame_image) {
        (None, None) => Ok(Input::Text),
        (None, Some(last)) => {
            let problem =
                format!("expected a `first_frame_image` beside it, got only {}", came(Some(&json!(last))));
            Err(InvalidParam::at(Some("last_frame_image"), problem))
        }
        (Some(first), None) => Ok(Input::Frames(vec![image("first_frame_image", first)?])),
        (Some(first), Some(last)) => {
            Ok(Input::Frames(vec![image("first_frame_image", first)?, image("last_frame_image", last)?]))
        }
    }
}
