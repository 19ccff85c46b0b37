//! Polls: when to poll, and what follows from each answer. A poll is harmless to repeat, so a lost or unreadable answer
//! is polled again.

use gatehouse_sdk::job::{Next as Polling, Polls};
use gatehouse_sdk::{Action, Context, Event, Stage, Step};

use crate::job::{Job, Tile, UPSCALED};
use crate::provider::calls;
use crate::provider::failure::POLICY;
use crate::provider::polled::{Answer, polled};
use crate::provider::result::Finished;
use crate::record::Status;
use crate::state::{Running, State, shown, stage, too_late};
use crate::steps::finish;

/// The highest progress before the results are copied.
const MAX_PROGRESS: u8 = 99;

/// What follows from an event.
pub(crate) enum Next {
    Step(Box<Step<State>>),
    /// The provider waits for a dialog that nobody asked for.
    Confirm(Job, String, u8),
    /// The provider waits for the client.
    Ask(Job, String, u8),
    /// The tile is upscaled: the follow-up itself begins.
    Follow(Job, String, Box<Finished>, u8),
}

impl Next {
    fn of(step: Step<State>) -> Self {
        Self::Step(Box::new(step))
    }
}

/// The first wait for a task that the provider has accepted.
pub(crate) fn begin(
    cx: &Context,
    job: Job,
    id: String,
    confirmed: bool,
    status: Status,
    progress: u8,
) -> Step<State> {
    let mut polls = Polls::new(cx, id);
    polls.reach(progress);
    Running { job, confirmed, status, polls }.rest(cx)
}

impl Running {
    /// Polls later, at the usual pace.
    fn rest(self, cx: &Context) -> Step<State> {
        let wait = self.polls.rest(cx);
        self.then(wait)
    }

    /// A step with the task's stage and progress on it.
    fn then(self, action: Action) -> Step<State> {
        let progress = self.polls.progress();
        let stage = if progress > 0 { Stage::Processing } else { stage(self.status) };
        Step::new(State::Running(self), action).stage(stage).progress(progress)
    }
}

pub(crate) fn step(cx: &Context, mut running: Running, event: Event) -> Next {
    if matches!(event, Event::Joined(_)) {
        too_late();
        let wait = running.polls.rest(cx);
        return Next::of(running.then(wait));
    }
    // A cancel stops nothing: the engine's work goes on and is paid for, whatever the proxy forgets.
    let read = |reply: &_| polled(reply, &running.job);
    match running.polls.step(cx, &POLICY, event, calls::fetch, read) {
        Polling::Action(action) => Next::of(running.then(action)),
        Polling::Answer(answer) => answered(cx, running, answer),
    }
}

fn answered(cx: &Context, mut running: Running, answer: Answer) -> Next {
    match answer {
        Answer::Running(status, progress) => Next::of(going_on(cx, running, status, progress)),
        // The server has not noticed yet that the dialog is finished.
        Answer::Modal if running.confirmed => Next::of(running.rest(cx)),
        Answer::Modal => {
            let progress = running.polls.progress();
            let next = if running.job.waits_for_client() { Next::Ask } else { Next::Confirm };
            next(running.job, running.polls.id, progress)
        }
        Answer::Finished(finished) if matches!(running.job.tile, Some(Tile::Upscaling(_))) => {
            running.polls.reach(UPSCALED);
            let progress = running.polls.progress();
            Next::Follow(running.job, running.polls.id, finished, progress)
        }
        Answer::Finished(finished) => {
            running.status = Status::InProgress;
            let outcome = finish::outcome(&running.job, &running.polls.id, *finished, running.confirmed);
            running.polls.reach(MAX_PROGRESS);
            Next::of(running.then(Action::Done(outcome)))
        }
    }
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
