//! The parents of self-tests as the manifest's document writes them.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::media::{Facts, MediaKind};
use super::parent::{Parent, Status};

/// A task that a request follows up.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Parent")]
pub(super) struct ParentWritten<'a> {
    /// Its id; an id of no task when it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
    /// The family that made it.
    family: &'a str,
    /// Its model's own id.
    model: &'a str,
    /// What the client reads as `status`; completed when it is left out.
    #[serde(default)]
    status: StatusWritten,
    /// What the client reads as `result`.
    #[serde(default)]
    public: Value,
    /// What the family kept for follow-ups.
    #[serde(default)]
    private: Value,
    /// Its results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    media: Vec<FactsWritten<'a>>,
    /// The account that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    affinity: Option<&'a str>,
    /// Briefs of the requests that joined it, as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    joining: Vec<String>,
}

#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Status")]
enum StatusWritten {
    Submitted,
    Pending,
    Processing,
    #[default]
    Completed,
    Failed,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MediaKind")]
enum KindWritten {
    Image,
    Video,
    Audio,
    Other,
}

/// Facts about a piece of media.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Facts")]
struct FactsWritten<'a> {
    kind: KindWritten,
    mime: &'a str,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    milliseconds: Option<u64>,
    /// Frames per 1000 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    fps_milli: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has_audio: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has_alpha: Option<bool>,
    /// `blob:<id>`, when the host keeps the bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<&'a str>,
}

impl<'a> ParentWritten<'a> {
    fn of(parent: &'a Parent) -> Self {
        Self {
            task: Some(&parent.task),
            family: &parent.family,
            model: &parent.model,
            status: match parent.status {
                Status::Submitted => StatusWritten::Submitted,
                Status::Pending => StatusWritten::Pending,
                Status::Processing => StatusWritten::Processing,
                Status::Completed => StatusWritten::Completed,
                Status::Failed => StatusWritten::Failed,
            },
            public: parent.public.clone(),
            private: parent.private.clone(),
            media: parent.media.iter().map(FactsWritten::of).collect(),
            affinity: parent.affinity.as_deref(),
            joining: parent.joining.iter().map(|brief| String::from_utf8_lossy(brief).into_owned()).collect(),
        }
    }
}

impl<'a> FactsWritten<'a> {
    fn of(facts: &'a Facts) -> Self {
        Self {
            kind: match facts.kind {
                MediaKind::Image => KindWritten::Image,
                MediaKind::Video => KindWritten::Video,
                MediaKind::Audio => KindWritten::Audio,
                MediaKind::Other => KindWritten::Other,
            },
            mime: &facts.mime,
            bytes: facts.bytes,
            width: facts.width,
            height: facts.height,
            milliseconds: facts.milliseconds,
            fps_milli: facts.fps_milli,
            has_audio: facts.has_audio,
            has_alpha: facts.has_alpha,
            blob: facts.blob.as_deref(),
        }
    }
}

/// For `#[serde(serialize_with)]`.
pub(super) fn all<S: Serializer>(parents: &[Parent], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(parents.iter().map(ParentWritten::of))
}
