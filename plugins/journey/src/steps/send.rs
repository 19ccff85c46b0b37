//! Submissions: sent once, and again only when the provider certainly did not take them.

use gatehouse_sdk::job::{Attempts, Next, Polls};
use gatehouse_sdk::{Action, Call, Context, Event, Stage, Step};

use crate::job::{Body, Job, ModalRequest, Tile};
use crate::provider::calls;
use crate::provider::failure::POLICY;
use crate::provider::submitted::{Taken, submitted};
use crate::record::Status;
use crate::state::{Dialog, Running, Sending, State, Waiting, shown, too_late};

/// Sends the job, or its second part once its tile is upscaled.
pub(crate) fn create(cx: &Context, job: Job, progress: u8) -> Step<State> {
    submit(cx, job, None, progress)
}

/// Finishes the dialog `id`.
pub(crate) fn confirm(cx: &Context, job: Job, id: String, modal: ModalRequest, progress: u8) -> Step<State> {
    submit(cx, job, Some(Dialog { id, modal }), progress)
}

/// The first try.
fn submit(cx: &Context, job: Job, dialog: Option<Dialog>, progress: u8) -> Step<State> {
    let call = call(cx, &job, dialog.as_ref());
    Sending { job, dialog, progress, attempts: Attempts::default() }.then(Action::Call(call))
}

fn call(cx: &Context, job: &Job, dialog: Option<&Dialog>) -> Call {
    match dialog {
        None => calls::create(cx, job),
        Some(dialog) => calls::confirm(cx, job, &dialog.id, &dialog.modal),
    }
}

pub(crate) fn step(cx: &Context, mut sending: Sending, event: Event) -> Step<State> {
    if matches!(event, Event::Joined(_)) {
        too_late();
        let wait = sending.attempts.keep_waiting(cx);
        return sending.then(wait);
    }
    // The provider may answer that it does not know the task that this one follows up.
    let has_parent = sending.dialog.is_some() || matches!(sending.job.body, Body::Press(_) | Body::Change(_));
    let call = || call(cx, &sending.job, sending.dialog.as_ref());
    match sending.attempts.step(cx, &POLICY, event, call, |reply| submitted(reply, has_parent)) {
        Next::Action(action) => sending.then(action),
        Next::Answer(taken) => sending.taken(cx, taken),
    }
}

impl Sending {
    fn then(self, action: Action) -> Step<State> {
        let is_second = self.dialog.is_some() || matches!(self.job.tile, Some(Tile::Upscaled(_)));
        let stage = if is_second { Stage::Processing } else { self.attempts.stage() };
        let progress = self.progress;
        Step::new(State::Sending(self), action).stage(stage).progress(progress)
    }

    fn taken(self, cx: &Context, taken: Taken) -> Step<State> {
        match taken {
            Taken::Accepted(id) | Taken::Modal(id) if self.dialog.is_some() => {
                run(cx, self.job, id, true, self.progress)
            }
            Taken::Accepted(id) => run(cx, self.job, id, false, self.progress),
            Taken::Modal(id) if self.job.waits_for_client() => Waiting::ask(cx, self.job, id, self.progress),
            Taken::Modal(id) => {
                let modal = self.job.own_dialog();
                confirm(cx, self.job, id, modal, self.progress)
            }
        }
    }
}

/// The provider works on it from now on.
fn run(cx: &Context, job: Job, id: String, confirmed: bool, progress: u8) -> Step<State> {
    let status = match &job.tile {
        _ if confirmed => Status::Submitted,
        // The task is under way, whatever the provider says of its second part.
        Some(Tile::Upscaled(_)) => Status::InProgress,
        _ => Status::NotStart,
    };
    let record = job.record(status, Some(&id), None);
    let mut polls = Polls::new(cx, id);
    polls.reach(progress);
    shown(Running { job, confirmed, status, polls }.rest(cx), &record)
}
