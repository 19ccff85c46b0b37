//! What the family keeps of a task for follow-ups and for its own rendering: the private record.

use gatehouse_sdk::Parent;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::action::{Action, Speed};
use crate::version::Version;

/// The private record of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) action: Action,
    pub(crate) status: Status,
    /// The provider's id, once there is one.
    pub(crate) id: Option<String>,
    pub(crate) version: Option<Version>,
    /// The prompt with its flags; follow-ups inherit it.
    pub(crate) prompt: String,
    /// What a completed task has; the order of its media is its pictures or films, then the grid.
    pub(crate) result: Option<Completed>,
    /// Pixels of the picture that an inpaint task repaints, as far as known.
    pub(crate) picture: Option<(u32, u32)>,
    /// The speed of a modal request that is paid and could not be used: the next one costs nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) paid: Option<Speed>,
    /// Why it could not be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
    /// The client's own note, its `metadata`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) note: Value,
}

/// What a completed task has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Completed {
    pub(crate) kind: Kind,
    /// Its pictures or films, without the grid.
    pub(crate) count: usize,
    /// Whether the grid is the medium after them.
    pub(crate) has_grid: bool,
    pub(crate) buttons: Vec<Button>,
    pub(crate) description: Option<String>,
}

/// The provider's status of a task, as `GET /v1/journey/{task_id}` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Status {
    NotStart,
    Submitted,
    InProgress,
    Modal,
    Success,
}

/// What a follow-up may do with a completed task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Four pictures.
    Grid,
    /// One picture.
    Single,
    Films,
    Text,
}

impl Kind {
    /// As an error names it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Grid => "a grid of four",
            Self::Single => "a single picture",
            Self::Films => "a video",
            Self::Text => "a description",
        }
    }
}

/// A follow-up that the provider offers for a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Button {
    pub(crate) custom_id: String,
    #[serde(default)]
    pub(crate) emoji: String,
    #[serde(default)]
    pub(crate) label: String,
    #[serde(default, rename = "type")]
    pub(crate) kind: i64,
    #[serde(default)]
    pub(crate) style: i64,
}

impl Record {
    /// The record of a task of this family; `None` before it has one.
    pub(crate) fn of(parent: &Parent) -> Option<Self> {
        Self::deserialize(&parent.private).ok()
    }

    pub(crate) fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Completed {
    /// The button whose id begins so. Labels and positions differ between versions, and several labels are empty.
    pub(crate) fn button(&self, prefix: &str) -> Option<&Button> {
        self.buttons.iter().find(|button| button.custom_id.starts_with(prefix))
    }
}
