//! Continuations: a finished video and 7 seconds more, or the new part alone. Whether the original may be continued, where it is
//! kept, and the private record that the family keeps of it.
//!
//! The provider continues any file, so the file the host keeps is sent, unless the video is in the operator's bucket. The account
//! that made it is the host's to remember.

use gatehouse_sdk::params::{either, known_media, read};
use gatehouse_sdk::{Facts, InvalidParam, Parent, Refusal, Status, Submission};
use serde::{Deserialize, Serialize};

use super::{Input, Kept, Original, VideoKind, VideoRequest, common};
use crate::params::RemixParams;
use crate::words::{Aspect, FAMILY, Model, People, Resolution};

/// The parameter of the path.
const FIELD: &str = "task_id";
/// Seconds a continuation adds.
const ADDED_SECONDS: u32 = 7;
/// The length of a video that the provider continues; the whole then has 7 seconds more.
const MILLISECONDS: std::ops::RangeInclusive<u64> = 1000..=30_000;
/// Where the operator's bucket is.
const BUCKET: &str = "gs://";

/// The private record of a finished video.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) model: Model,
    /// Where the operator's bucket keeps the first video: `gs://...`. Records of older versions may have another address.
    pub(crate) uri: Option<String>,
    /// Length of that video. It is the provider's, so it begins with the original even where the client got only the new part.
    pub(crate) milliseconds: u64,
    /// How much of its beginning the client did not get.
    pub(crate) hidden_milliseconds: u64,
    /// How many videos the client got.
    pub(crate) videos: usize,
    pub(crate) aspect: Aspect,
    pub(crate) resolution: Resolution,
    pub(crate) audio: bool,
    pub(crate) people: People,
}

/// A video that may be continued.
struct Found {
    record: Record,
    original: Original,
    /// Length of what the provider gets.
    milliseconds: u64,
    /// How much of the beginning of that the client does not have.
    hidden_milliseconds: u64,
}

pub(super) fn request(request: &Submission) -> Result<VideoRequest, Refusal> {
    let params: RemixParams = read(&request.body)?;
    known_media(&request.body, &[])?;
    let found = find(params.model, request)?;
    let aspect = found.record.aspect;
    let wanted = either(&request.body, "aspect_ratio", params.aspect_ratio, "size", params.size)?;
    if let Some((wanted, field)) = wanted.filter(|(wanted, _)| *wanted != aspect) {
        let problem =
            format!("expected that of the original, `{aspect}`, or nothing, got the string \"{wanted}\"");
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

/// The original of a request that names `model`.
fn find(model: Model, request: &Submission) -> Result<Found, Refusal> {
    let Some(parent) = request.parent() else {
        return Err(Refusal::NotFound("no video to continue".to_owned()));
    };
    let record = Record::deserialize(&parent.private).unwrap_or_default();
    check(parent, model)?;
    let (video, milliseconds, hidden_milliseconds) = video(parent, &record)?;
    if !MILLISECONDS.contains(&milliseconds) {
        let (expected, came) = if milliseconds < *MILLISECONDS.start() {
            ("at least 1 s", format!("{milliseconds} ms"))
        } else {
            ("at most 30 s", format!("{} s", milliseconds.div_ceil(1000)))
        };
        return Err(invalid(format!("expected a video of {expected}, got one of {came}")).into());
    }
    let original = Original { video, account: parent.affinity.clone() };
    Ok(Found { record, original, milliseconds, hidden_milliseconds })
}

/// Family, model and status.
fn check(parent: &Parent, model: Model) -> Result<(), InvalidParam> {
    if parent.family != FAMILY {
        return Err(invalid(format!(
            "expected a video of a scene-3.1 model, got a task of the model {}",
            parent.model
        )));
    }
    if parent.model != model.id() {
        let made_by = Model::ALL.into_iter().find(|known| known.id() == parent.model);
        let names = made_by.map_or_else(|| format!("`{}`", parent.model), names);
        let problem = format!("expected the model of the original, {names}, got `{}`", model.names()[1]);
        return Err(InvalidParam::at(Some("model"), problem));
    }
    if parent.status != Status::Completed {
        let status = parent.status.as_str();
        return Err(invalid(format!("expected a completed video, got one that is {status}")));
    }
    Ok(())
}

/// Where the video is kept, its length, and how much of its beginning is hidden from the client.
fn video(parent: &Parent, record: &Record) -> Result<(Kept, u64, u64), InvalidParam> {
    if let Some(uri) = record.uri.as_ref().filter(|uri| uri.starts_with(BUCKET)) {
        return Ok((Kept::Uri(uri.clone()), record.milliseconds, record.hidden_milliseconds));
    }
    // What the client has is what is continued; the first one, where there are several.
    let film = parent.media.first().filter(|_| parent.media.len() >= record.videos);
    let Some(Facts { blob: Some(blob), milliseconds, mime, .. }) = film else {
        return Err(invalid(
            "expected a video that is still kept, got one whose link has expired".to_owned(),
        ));
    };
    let Some(milliseconds) = milliseconds else {
        return Err(invalid("expected a video of readable length, got one without".to_owned()));
    };
    Ok((Kept::Blob { name: blob.clone(), mime: mime.clone() }, *milliseconds, 0))
}

fn names(model: Model) -> String {
    let [official, plain, ext] = model.names();
    format!("`{plain}` (or `{ext}`, `{official}`)")
}

fn invalid(problem: String) -> InvalidParam {
    InvalidParam::at(Some(FIELD), problem)
}
