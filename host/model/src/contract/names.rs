//! What a request may refer to: earlier tasks of its customer, and names the customer owns.

use bytes::Bytes;
use gatehouse_contract::{FactsWritten, KindWritten, ParentWritten, SOME_TASK, StatusWritten};
use serde::{Deserialize, Serialize};

use crate::contract::call::Affinity;
use crate::contract::facts::{Facts, MediaKind};
use crate::contract::json::Json;
use crate::contract::task_contract::Failure;
use crate::ids::TaskId;
use crate::status::Status;
use crate::time::UnixMs;

/// What a follow-up may know of an earlier task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The task's id.
    pub task: TaskId,
    /// The family that made it.
    pub family: String,
    /// Its canonical model.
    pub model: String,
    /// What its client reads as `status`.
    pub status: Status,
    /// What its client reads as `result`, interim or final, JSON.
    #[serde(with = "crate::contract::json")]
    pub public: Json,
    /// What the family kept, JSON.
    #[serde(with = "crate::contract::json")]
    pub private: Json,
    /// Its results, as blobs the new task may use.
    pub media: Vec<Facts>,
    /// The provider account that made it.
    pub affinity: Option<Affinity>,
    /// Briefs of requests that joined it and that its plugin has not answered yet, oldest first.
    pub joining: Vec<Bytes>,
}

/// A parent of a self-test; all others come from the host.
impl TryFrom<ParentWritten> for Parent {
    type Error = String;

    fn try_from(written: ParentWritten) -> Result<Self, String> {
        let task = written.task.as_deref().unwrap_or(SOME_TASK);
        Ok(Self {
            task: task.parse().map_err(|_| format!("expected a task id, got {task:?}"))?,
            family: written.family,
            model: written.model,
            status: match written.status {
                StatusWritten::Submitted => Status::Submitted,
                StatusWritten::Pending => Status::Pending,
                StatusWritten::Processing => Status::Processing,
                StatusWritten::Completed => Status::Completed,
                StatusWritten::Failed => Status::Failed,
            },
            public: written.public.into(),
            private: written.private.into(),
            media: written.media.into_iter().map(facts).collect(),
            affinity: written.affinity,
            joining: written.joining.into_iter().map(Into::into).collect(),
        })
    }
}

fn facts(written: FactsWritten) -> Facts {
    let FactsWritten {
        kind,
        mime,
        bytes,
        width,
        height,
        milliseconds,
        fps_milli,
        has_audio,
        has_alpha,
        blob,
    } = written;
    let kind = match kind {
        KindWritten::Image => MediaKind::Image,
        KindWritten::Video => MediaKind::Video,
        KindWritten::Audio => MediaKind::Audio,
        KindWritten::Other => MediaKind::Other,
    };
    Facts { kind, mime, bytes, width, height, milliseconds, fps_milli, has_audio, has_alpha, blob }
}

/// A name that a task claims for its customer, for example `asset://...`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The name.
    pub name: String,
    /// What the family keeps with it, JSON.
    #[serde(with = "crate::contract::json")]
    pub private: Json,
    /// The provider account where it exists.
    pub affinity: Option<Affinity>,
}

/// A name that the customer owns: a claim of one of its tasks.
pub type OwnedName = Claim;

/// A task as a family renders it on a path of its own.
#[derive(Clone, Debug)]
pub struct TaskView {
    /// The task.
    pub task: Parent,
    /// 0 to 100.
    pub progress: u8,
    /// When it was accepted.
    pub created: UnixMs,
    /// When it ended.
    pub ended: Option<UnixMs>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// What it cost, as clients read it.
    pub cost: Option<String>,
}
