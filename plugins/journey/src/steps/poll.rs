//! Polls: when to poll, and what follows from each answer. A poll is harmless to repeat, so a lost or unreadable answer
//! is polled again.

use gatehouse_sdk::job::Next;
use gatehouse_sdk::{Action, Context, Event, Failure, Stage, Step};

use crate::job::{Body, Follow, Tile, UPSCALED};
use crate::provider::calls;
use crate::provider::failure::POLICY;
use crate::provider::polled::{Answer, polled};
use crate::provider::result::Finished;
use crate::record::Status;
use crate::request::follow_up::press_of;
use crate::request::parent::lacks_button;
use crate::state::{Running, State, Waiting, shown, too_late};
use crate::steps::{finish, send};

/// The highest progress before the results are copied.
const MAX_PROGRESS: u8 = 99;

impl Running {
    /// Polls later, at the usual pace.
    pub(super) fn rest(self, cx: &Context) -> Step<State> {
        let wait = self.polls.rest(cx);
        self.then(wait)
    }

    /// A step with the task's stage and progress on it.
    fn then(self, action: Action) -> Step<State> {
        let progress = self.polls.progress();
        let is_idle = progress == 0 && self.status == Status::NotStart;
        let stage = if is_idle { Stage::Pending } else { Stage::Processing };
        Step::new(State::Running(self), action).stage(stage).progress(progress)
    }
}

pub(crate) fn step(cx: &Context, mut running: Running, event: Event) -> Step<State> {
    if matches!(event, Event::Joined(_)) {
        too_late();
        return running.rest(cx);
    }
    // A cancel stops nothing: the engine's work goes on and is paid for, whatever the proxy forgets.
    let read = |reply: &_| polled(reply, &running.job);
    match running.polls.step(cx, &POLICY, event, calls::fetch, read) {
        Next::Action(action) => running.then(action),
        Next::Answer(answer) => answered(cx, running, answer),
    }
}

fn answered(cx: &Context, mut running: Running, answer: Answer) -> Step<State> {
    match answer {
        Answer::Running(status, progress) => going_on(cx, running, status, progress),
        // The server has not noticed yet that the dialog is finished.
        Answer::Modal if running.confirmed => running.rest(cx),
        Answer::Modal => {
            let progress = running.polls.progress();
            let Running { job, polls, .. } = running;
            if job.waits_for_client() {
                return Waiting::ask(cx, job, polls.id, progress);
            }
            let modal = job.own_dialog();
            send::confirm(cx, job, polls.id, modal, progress)
        }
        Answer::Finished(finished) => match running.job.tile.take() {
            Some(Tile::Upscaling(wanted)) => {
                running.polls.reach(UPSCALED);
                follow(cx, running, &wanted, &finished)
            }
            tile => {
                running.job.tile = tile;
                running.status = Status::InProgress;
                let outcome = finish::outcome(&running.job, &running.polls.id, *finished, running.confirmed);
                running.polls.reach(MAX_PROGRESS);
                running.then(Action::Done(outcome))
            }
        },
    }
}

/// Presses the button of the picture that the tile has become.
fn follow(cx: &Context, running: Running, wanted: &Follow, upscaled: &Finished) -> Step<State> {
    let progress = running.polls.progress();
    let Running { mut job, polls, .. } = running;
    let Some(button) = upscaled.completed.button(&wanted.button) else {
        let failure = Failure::request(lacks_button(job.version, &wanted.what));
        return Step::fail(State::Accepted(job), failure).stage(Stage::Processing).progress(progress);
    };
    job.body = Body::Press(press_of(job.action, polls.id, button.custom_id.clone()));
    let address = upscaled.products.first().map(|product| product.source.clone());
    job.tile = Some(Tile::Upscaled(address.unwrap_or_default()));
    send::create(cx, job, progress)
}

/// The status only moves forward, and so does the progress.
fn going_on(cx: &Context, mut running: Running, status: Status, progress: Option<u8>) -> Step<State> {
    running.polls.reach(running.job.share(progress.unwrap_or(0)).min(MAX_PROGRESS));
    let is_later = matches!(
        (running.status, status),
        (Status::NotStart, Status::Submitted | Status::InProgress) | (Status::Submitted, Status::InProgress)
    );
    if !is_later {
        return running.rest(cx);
    }
    running.status = status;
    let record = running.job.record(status, Some(&running.polls.id), None);
    shown(running.rest(cx), &record)
}
