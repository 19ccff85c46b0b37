//! The finished video that a continuation begins with: whether it may be continued, where it is kept, and the private record that
//! the family keeps of it.
//!
//! The provider continues any file, so the file the host keeps is sent, unless the video is in the operator's bucket. The account
//! that made it is the host's to remember.

use gatehouse_sdk::{Facts, InvalidParam, Parent, Refusal, Status, Submission};
use serde::{Deserialize, Serialize};

use super::{Kept, Original};
use crate::words::{Aspect, FAMILY, Model, People, Resolution};

/// The parameter of the path.
const FIELD: &str = "task_id";
/// Seconds a continuation adds.
pub(crate) const ADDED_SECONDS: u32 = 7;
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

impl Record {
    fn of(parent: &Parent) -> Option<Self> {
        Self::deserialize(&parent.private).ok()
    }
}

/// A video that may be continued.
pub(super) struct Found {
    pub(super) record: Record,
    pub(super) original: Original,
    /// Length of what the provider gets.
    pub(super) milliseconds: u64,
    /// How much of the beginning of that the client does not have.
    pub(super) hidden_milliseconds: u64,
}

/// The original of a request that names `model`.
pub(super) fn find(model: Model, request: &Submission) -> Result<Found, Refusal> {
    let Some(parent) = request.parent() else {
        return Err(Refusal::NotFound("no video to continue".to_owned()));
    };
    let record = Record::of(parent).unwrap_or_default();
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
        let problem = format!("expected the model of the original, {names}, got {}", names_of_other(model));
        return Err(InvalidParam::at(Some("model"), problem));
    }
    if parent.status != Status::Completed {
        let status = status(parent.status);
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

fn names_of_other(model: Model) -> String {
    format!("`{}`", model.names()[1])
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Submitted => "submitted",
        Status::Pending => "pending",
        Status::Processing => "processing",
        Status::Completed => "completed",
        Status::Failed => "failed",
    }
}

fn invalid(problem: String) -> InvalidParam {
    InvalidParam::at(Some(FIELD), problem)
}
