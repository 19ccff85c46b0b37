//! The state of a task, kept as JSON between its steps.

use gatehouse_sdk::job::{Attempts, Polls};
use gatehouse_sdk::{Context, Product, Stage, Step, View, log, pace};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::action::Speed;
use crate::job::{Job, ModalRequest, Tile};
use crate::record::{Record, Status};

/// The state of a task.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Accepted; its pictures may be probed.
    Accepted(Job),
    /// A submission is sent, or waits for the next try.
    Sending(Sending),
    /// The provider has accepted it.
    Running(Running),
    /// It waits for the modal route, or for the facts of the file that came with it.
    Modal(Waiting),
}

/// A submission.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sending {
    pub(crate) job: Job,
    /// The dialog to finish; without one, the job itself is sent.
    pub(crate) dialog: Option<Dialog>,
    /// Progress so far.
    pub(crate) progress: u8,
    #[serde(flatten)]
    pub(crate) attempts: Attempts,
}

/// A dialog of the provider, and what finishes it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Dialog {
    pub(crate) id: String,
    pub(crate) modal: ModalRequest,
}

/// A task the provider has accepted.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    pub(crate) job: Job,
    /// Its dialog has been finished.
    pub(crate) confirmed: bool,
    pub(crate) status: Status,
    #[serde(flatten)]
    pub(crate) polls: Polls,
}

/// A task that waits for the client.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub(crate) job: Job,
    pub(crate) id: String,
    pub(crate) progress: u8,
    /// The request that joined, while its file is probed.
    pub(crate) joined: Option<ModalRequest>,
    /// The speed of a request that joined, was paid, and could not be used.
    #[serde(default)]
    pub(crate) paid: Option<Speed>,
    /// Why it could not be used.
    #[serde(default)]
    pub(crate) problem: Option<String>,
}

impl Waiting {
    /// Shows MODAL and waits.
    pub(crate) fn ask(cx: &Context, job: Job, id: String, progress: u8) -> Step<State> {
        Self { job, id, progress, joined: None, paid: None, problem: None }.show(cx)
    }

    /// The same, with what clients see of it: why the last request could not be used, and the upscaled tile if there is one.
    pub(crate) fn show(self, cx: &Context) -> Step<State> {
        let record = Record {
            paid: self.paid,
            problem: self.problem.clone(),
            ..self.job.record(Status::Modal, Some(&self.id), None)
        };
        let mut view = View::waiting_for("modal", self.problem.as_deref(), record.to_value());
        if let Some(Tile::Upscaled(address)) = &self.job.tile {
            view.public["images"] = json!([{"url": ["media:0"], "expires_at": "expires:0"}]);
            view.products.push(Product::new(address));
        }
        self.wait(cx).view(view)
    }

    /// Waits for the host's deadline, a day at a time.
    pub(crate) fn wait(self, cx: &Context) -> Step<State> {
        let (until, progress) = (pace::until_deadline(cx), self.progress);
        Step::wait(State::Modal(self), until).stage(Stage::Processing).progress(progress)
    }
}

/// Shows a task that goes on: to its own route, and to follow-ups.
pub(crate) fn shown(step: Step<State>, record: &Record) -> Step<State> {
    step.view(View::new(Value::Null, record.to_value()))
}

/// A request joined a task that no longer waits for one.
pub(crate) fn too_late() {
    log::warn("a request joined a task that had already got one", &[]);
}
