//! Continuations: a finished video and 7 seconds more, or the new part alone.

use gatehouse_sdk::params::{either, known_media, read};
use gatehouse_sdk::{InvalidParam, Refusal, Submission};

use super::original::{self, ADDED_SECONDS};
use super::{Input, VideoKind, VideoRequest, common};
use crate::params::RemixParams;

pub(super) fn request(request: &Submission) -> Result<VideoRequest, Refusal> {
    let params: RemixParams = read(&request.body)?;
    known_media(&request.body, &[])?;
    let found = original::find(params.model, request)?;
    let aspect = found.record.aspect;
    let wanted = either(&request.body, "aspect_ratio", params.aspect_ratio, "size", params.size)?;
    if let Some((wanted, field)) = wanted.filter(|(wanted, _)| *wanted != aspect) {
        let problem = format!(
            "expected that of the original, `{}`, or nothing, got the string \"{}\"",
            aspect.name(),
            wanted.name()
        );
        return Err(InvalidParam::at(Some(field), problem).into());
    }
    // The upstream has no switch for the new part alone, so the host cuts its file where the new part begins.
    let hidden = if params.raw == Some(true) { found.milliseconds } else { found.hidden_milliseconds };
    let kind = VideoKind {
        seconds: ADDED_SECONDS,
        milliseconds: found.milliseconds + u64::from(ADDED_SECONDS) * 1000,
        hidden_milliseconds: hidden,
        samples: 1,
        aspect,
        resolution: params.resolution.unwrap_or_default(),
        // As the original: a continuation has no fields for these.
        audio: found.record.audio,
        people: found.record.people,
    };
    let parameters = common(&kind);
    let input = Input::Original(found.original);
    Ok(VideoRequest { model: params.model, prompt: params.prompt, input, parameters, kind })
}
