//! A checked request with every default filled in: what is sent to the provider, and what is kept of it.

use std::time::Duration;

use gatehouse_sdk::{Affinity, Charge};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::action::{Action, Speed};
use crate::billing;
use crate::record::{Completed, Record, Status};
use crate::version::Version;

/// The usual duration of a task.
pub(crate) const USUAL_DURATION: Duration = Duration::from_secs(60);

/// Progress of a task whose tile is upscaled.
pub(crate) const UPSCALED: u8 = 50;

/// A job for the provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub(crate) action: Action,
    pub(crate) version: Option<Version>,
    pub(crate) speed: Speed,
    /// With its flags; a follow-up has its parent's.
    pub(crate) prompt: String,
    pub(crate) body: Body,
    /// Pictures: at first the sources to probe, then what the call names.
    pub(crate) inputs: Vec<Input>,
    /// The account that made the parent.
    pub(crate) account: Option<Affinity>,
    /// Pixels of the parent's picture, for the file that says what to repaint.
    pub(crate) picture: Option<(u32, u32)>,
    /// Set where a follow-up of one picture names a tile of a grid: how far the work on it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tile: Option<Tile>,
    /// The client's own note.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) note: Value,
}

/// A tile that is upscaled first, within the task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Tile {
    /// The body of the job upscales it; then a button of the upscaled picture is pressed.
    Upscaling(Follow),
    /// It is upscaled, and the body is the follow-up itself. The address of the picture, which the client needs to say
    /// where to paint.
    Upscaled(String),
}

/// The button to press on the upscaled picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Follow {
    /// How its id begins.
    pub(crate) button: String,
    /// What the client is told when it is not there.
    pub(crate) what: String,
}

/// A picture of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Input {
    /// The field of the request, for errors.
    pub(crate) field: String,
    pub(crate) source: String,
}

/// What is sent, besides prompt and inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Body {
    Imagine,
    Blend { dimensions: Dimensions },
    Describe,
    Edits,
    Press(Press),
    Change(Change),
    Video(Film),
}

/// The form of a blended picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Dimensions {
    Portrait,
    #[default]
    Square,
    Landscape,
}

/// A button of the parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Press {
    /// The provider's id of the parent.
    pub(crate) task: String,
    pub(crate) custom_id: String,
    /// The prompt that the dialog after the button gets; `None` for a button without a dialog.
    pub(crate) remix: Option<String>,
    /// Whether the dialog is the client's to finish, by the modal route.
    pub(crate) waits: bool,
}

/// A follow-up by action and index, at servers whose tasks have no buttons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub(crate) task: String,
    pub(crate) index: i64,
}

/// A film of a picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Film {
    pub(crate) is_720p: bool,
    pub(crate) motion: Motion,
    pub(crate) batch_size: u32,
    /// The client's prompt, the parent's, or nothing.
    pub(crate) prompt: String,
}

/// How much moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Motion {
    Low,
    #[default]
    High,
}

/// What the task that waits for the modal route gets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ModalRequest {
    /// Empty: the parent's.
    pub(crate) prompt: String,
    /// The source to probe; after the probe, what the call names.
    pub(crate) area: Option<Input>,
    pub(crate) speed: Speed,
    /// Pixels of the picture that is painted, where the task itself does not know them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) picture: Option<(u32, u32)>,
}

impl Job {
    /// One without a prompt, pictures and a parent.
    pub(crate) fn new(action: Action, body: Body) -> Self {
        Self {
            action,
            version: None,
            speed: Speed::default(),
            prompt: String::new(),
            body,
            inputs: Vec::new(),
            account: None,
            picture: None,
            tile: None,
            note: Value::Null,
        }
    }

    /// What it costs.
    pub(crate) fn charge(&self) -> Charge {
        match &self.body {
            Body::Video(film) => billing::films(self.version, film.is_720p, film.batch_size),
            _ => billing::charge(self.action, self.version, self.speed),
        }
    }

    /// Whether the task waits for the modal route once the provider asks for more.
    pub(crate) fn waits_for_client(&self) -> bool {
        matches!(&self.body, Body::Press(press) if press.waits)
    }

    /// What finishes a dialog that is not the client's to finish: the prompt of a remix, or the parent's where nobody has
    /// asked for the dialog.
    pub(crate) fn own_dialog(&self) -> ModalRequest {
        let prompt = match &self.body {
            Body::Press(press) => press.remix.clone().unwrap_or_default(),
            _ => String::new(),
        };
        ModalRequest { prompt, speed: self.speed, ..ModalRequest::default() }
    }

    /// The progress of the whole task when this part of it has come so far.
    pub(crate) fn share(&self, progress: u8) -> u8 {
        match self.tile {
            None => progress,
            Some(Tile::Upscaling(_)) => progress.min(100) / 2,
            Some(Tile::Upscaled(_)) => UPSCALED + progress.min(100) / 2,
        }
    }

    /// What is kept of it.
    pub(crate) fn record(&self, status: Status, id: Option<&str>, result: Option<Completed>) -> Record {
        Record {
            action: self.action,
            status,
            id: id.map(str::to_owned),
            version: self.version,
            prompt: self.prompt.clone(),
            result,
            picture: self.picture,
            paid: None,
            problem: None,
            note: self.note.clone(),
        }
    }
}
