//! The values of a written script, in the form that authors write: every field that has a usual value may be left out.

use gatehouse_contract::{KindWritten, StatusWritten};
use gatehouse_sdk::{
    Body, Context, DirectRequest, Extra, Facts, Failure, Header, Outage, Owned, Parent, Reply, Submission,
    TaskView, UnixMs,
};
use serde::Deserialize;
use serde_json::{Map, Value};

/// `{"context": ...}`, before all other lines.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContextWritten {
    now: Option<u64>,
    seed: Option<u64>,
    customer: Option<String>,
    settings: Option<Value>,
}

impl ContextWritten {
    pub(super) fn over(self, cx: &Context) -> Context {
        let now = self.now.map_or(cx.now, UnixMs);
        Context {
            seed: self.seed.unwrap_or(cx.seed),
            customer: self.customer.unwrap_or_else(|| cx.customer.clone()),
            settings: self.settings.unwrap_or_else(|| cx.settings.clone()),
            ..Context::at(now)
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubmissionWritten {
    surface: String,
    body: Value,
    #[serde(default)]
    parents: Vec<ParentWritten>,
    #[serde(default)]
    owned: Vec<OwnedWritten>,
    #[serde(default)]
    blobs: Vec<FactsWritten>,
}

impl From<SubmissionWritten> for Submission {
    fn from(written: SubmissionWritten) -> Self {
        Self {
            parents: written.parents.into_iter().map(Into::into).collect(),
            owned: written.owned.into_iter().map(Into::into).collect(),
            blobs: written.blobs.into_iter().map(Into::into).collect(),
            ..Self::new(written.surface, written.body)
        }
    }
}

/// A request that is answered at once; one that reads names no model.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DirectWritten {
    surface: String,
    #[serde(default)]
    model: String,
    body: Value,
    #[serde(default)]
    blobs: Vec<FactsWritten>,
}

impl From<DirectWritten> for DirectRequest {
    fn from(written: DirectWritten) -> Self {
        let DirectWritten { surface, model, body, blobs } = written;
        Self { surface, model, body, blobs: blobs.into_iter().map(Into::into).collect(), extra: Extra::new() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParentWritten {
    task: Option<String>,
    family: String,
    model: String,
    #[serde(default)]
    status: StatusWritten,
    #[serde(default)]
    public: Value,
    #[serde(default)]
    private: Value,
    #[serde(default)]
    media: Vec<FactsWritten>,
    affinity: Option<String>,
    #[serde(default)]
    joining: Vec<String>,
}

impl From<ParentWritten> for Parent {
    fn from(written: ParentWritten) -> Self {
        let parent = Self::new(written.family, written.model, written.private);
        Self {
            task: written.task.unwrap_or_else(|| parent.task.clone()),
            status: written.status.into(),
            public: written.public,
            media: written.media.into_iter().map(Into::into).collect(),
            affinity: written.affinity,
            joining: written.joining.into_iter().map(String::into_bytes).collect(),
            ..parent
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnedWritten {
    name: String,
    #[serde(default)]
    private: Value,
    affinity: Option<String>,
}

impl From<OwnedWritten> for Owned {
    fn from(written: OwnedWritten) -> Self {
        Self { name: written.name, private: written.private, affinity: written.affinity }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FactsWritten {
    kind: KindWritten,
    mime: String,
    bytes: u64,
    width: Option<u32>,
    height: Option<u32>,
    milliseconds: Option<u64>,
    fps_milli: Option<u32>,
    has_audio: Option<bool>,
    has_alpha: Option<bool>,
    blob: Option<String>,
}

impl From<FactsWritten> for Facts {
    fn from(written: FactsWritten) -> Self {
        Self {
            width: written.width,
            height: written.height,
            milliseconds: written.milliseconds,
            fps_milli: written.fps_milli,
            has_audio: written.has_audio,
            has_alpha: written.has_alpha,
            blob: written.blob,
            ..Self::new(written.kind.into(), written.mime, written.bytes)
        }
    }
}

/// One finding: facts, or the reason there are none.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FindingWritten {
    Facts(Box<FactsWritten>),
    Problem(String),
}

impl From<FindingWritten> for Result<Facts, String> {
    fn from(written: FindingWritten) -> Self {
        match written {
            FindingWritten::Facts(facts) => Ok((*facts).into()),
            FindingWritten::Problem(why) => Err(why),
        }
    }
}

/// A reply; its body is `json`, `text` or `blob`, and without them empty.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplyWritten {
    status: u16,
    #[serde(default)]
    headers: Map<String, Value>,
    json: Option<Value>,
    text: Option<String>,
    blob: Option<String>,
    affinity: Option<String>,
}

impl TryFrom<ReplyWritten> for Reply {
    type Error = String;

    fn try_from(written: ReplyWritten) -> Result<Self, String> {
        let mut reply = match (written.json, written.text, written.blob) {
            (Some(json), None, None) => Self::new(written.status, &json),
            (None, text, None) => Self::raw(written.status, text.unwrap_or_default()),
            (None, None, Some(blob)) => {
                Self { body: Body::Blob(blob), ..Self::raw(written.status, Vec::new()) }
            }
            _ => return Err("expected one of `json`, `text` and `blob`, got several".to_owned()),
        };
        for (name, value) in written.headers {
            reply.headers.push(header(&name, value)?);
        }
        if let Some(affinity) = written.affinity {
            reply.affinity = affinity;
        }
        Ok(reply)
    }
}

/// A header, lower-case.
pub(super) fn header(name: &str, value: Value) -> Result<Header, String> {
    match value {
        Value::String(value) => Ok(Header { name: name.to_ascii_lowercase(), value }),
        other => Err(format!("the header {name:?}: expected a string, got {other}")),
    }
}

/// The words for outages: `#[serde(with = "OutageWritten")]`.
#[derive(Deserialize)]
#[serde(remote = "Outage", rename_all = "kebab-case")]
pub(super) enum OutageWritten {
    Unreachable,
    Timeout,
    Broken,
    TooLarge,
    Refused,
}

/// A state of an older version: JSON, or bytes as text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MigrateWritten {
    pub(super) from: u32,
    json: Option<Value>,
    text: Option<String>,
}

impl MigrateWritten {
    pub(super) fn state(self) -> Result<Vec<u8>, String> {
        match (self.json, self.text) {
            (Some(json), None) => Ok(json.to_string().into_bytes()),
            (None, Some(text)) => Ok(text.into_bytes()),
            _ => Err("`migrate`: expected the state as one of `json` and `text`".to_owned()),
        }
    }
}

/// Shared calls of one key: their items, and the reply to the call they became.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MergeWritten {
    pub(super) key: String,
    pub(super) items: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SplitWritten {
    pub(super) key: String,
    pub(super) items: Vec<String>,
    pub(super) reply: ReplyWritten,
}

/// A task to render.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RenderWritten {
    pub(super) surface: String,
    task: ParentWritten,
    #[serde(default)]
    progress: u8,
    /// By default the script's present time.
    created: Option<u64>,
    ended: Option<u64>,
    /// The message of a failure by the provider.
    failure: Option<String>,
    cost: Option<String>,
}

impl RenderWritten {
    pub(super) fn view(self, now: UnixMs) -> TaskView {
        TaskView {
            task: self.task.into(),
            progress: self.progress,
            created: self.created.map_or(now, UnixMs),
            ended: self.ended.map(UnixMs),
            failure: self.failure.map(Failure::upstream),
            cost: self.cost,
        }
    }
}
