//! Submissions: sent once, and again only when the provider certainly did not take them.

use gatehouse_sdk::{Context, Ending, Event, Failure, Outage, Reply, Stage, Step, log, pace};

use crate::job::{Body, Job, ModalRequest};
use crate::provider::submitted::{Submitted, submitted};
use crate::provider::{calls, failure};
use crate::record::Status;
use crate::steps::poll;
use crate::steps::state::{Dialog, Sending, State, Waiting, cancelled, shown, too_late, unexpected};

/// Tries after a full queue or without a connection: for a minute at the usual pace.
const MAX_RESTS: u32 = 5;

/// Sends the job.
pub(crate) fn create(cx: &Context, job: Job) -> Step<State> {
    Sending { job, dialog: None, rests: 0, until: None, progress: 0 }.call(cx)
}

/// Finishes the dialog `id`.
pub(crate) fn confirm(cx: &Context, job: Job, id: String, modal: ModalRequest, progress: u8) -> Step<State> {
    Sending { job, dialog: Some(Dialog { id, modal }), rests: 0, until: None, progress }.call(cx)
}

pub(crate) fn step(cx: &Context, sending: Sending, event: Event) -> Step<State> {
    match event {
        Event::Reply(reply) => answered(cx, sending, &reply),
        Event::Outage(outage) => unanswered(cx, sending, outage),
        Event::Timer if sending.until.is_some() => sending.call(cx),
        Event::Cancel(_) if sending.until.is_some() => sending.fail(cancelled()),
        // Sent, and the outcome is not known yet.
        Event::Cancel(_) => Step::wait(State::Sending(sending), cx.deadline.max(cx.now)),
        Event::Joined(_) => {
            too_late();
            let until = sending.until.unwrap_or(cx.now).max(cx.now);
            sending.wait(until)
        }
        other => sending.fail(unexpected(&other)),
    }
}

impl Sending {
    fn call(mut self, cx: &Context) -> Step<State> {
        self.until = None;
        let call = match &self.dialog {
            None => calls::create(cx, &self.job),
            Some(dialog) => calls::confirm(cx, &dialog.id, &dialog.modal),
        };
        let (stage, progress) = (self.stage(), self.progress);
        Step::call(State::Sending(self), call).stage(stage).progress(progress)
    }

    fn rest(mut self, cx: &Context) -> Step<State> {
        self.rests += 1;
        if self.rests > MAX_RESTS {
            return self.fail(failure::unavailable());
        }
        let until = pace::backoff(cx, self.rests);
        self.wait(until)
    }

    fn wait(mut self, until: gatehouse_sdk::UnixMs) -> Step<State> {
        self.until = Some(until);
        let (stage, progress) = (self.stage().max(Stage::Pending), self.progress);
        Step::wait(State::Sending(self), until).stage(stage).progress(progress)
    }

    fn fail(self, failure: Failure) -> Step<State> {
        let (stage, progress) = (self.stage(), self.progress);
        Step::fail(State::Sending(self), Ending::from(failure)).stage(stage).progress(progress)
    }

    fn stage(&self) -> Stage {
        match (&self.dialog, self.rests) {
            (Some(_), _) => Stage::Processing,
            (None, 0) => Stage::Submitted,
            (None, _) => Stage::Pending,
        }
    }

    /// Whether the provider may answer that it does not know a task.
    fn has_parent(&self) -> bool {
        self.dialog.is_some() || matches!(self.job.body, Body::Press(_) | Body::Change(_))
    }
}

fn answered(cx: &Context, sending: Sending, reply: &Reply) -> Step<State> {
    match submitted(reply, sending.has_parent()) {
        Submitted::Full => sending.rest(cx),
        Submitted::Failed(failure) => sending.fail(failure),
        Submitted::Accepted(id) | Submitted::Modal(id) if sending.dialog.is_some() => {
            let progress = sending.progress;
            run(cx, sending.job, id, true, progress)
        }
        Submitted::Accepted(id) => run(cx, sending.job, id, false, 0),
        Submitted::Modal(id) if sending.job.waits_for_client() => Waiting::ask(cx, sending.job, id, 0),
        // A dialog that nobody asked for, or the one of a remix: finished at once.
        Submitted::Modal(id) => {
            let prompt = match &sending.job.body {
                Body::Press(press) => press.remix.clone().unwrap_or_default(),
                _ => String::new(),
            };
            let modal = ModalRequest { prompt, area: None, speed: sending.job.speed };
            confirm(cx, sending.job, id, modal, 0)
        }
    }
}

/// The provider works on it from now on.
fn run(cx: &Context, job: Job, id: String, confirmed: bool, progress: u8) -> Step<State> {
    let status = if confirmed { Status::Submitted } else { Status::NotStart };
    let record = job.record(status, Some(&id), None);
    shown(poll::begin(cx, job, id, confirmed, status, progress), &record)
}

fn unanswered(cx: &Context, sending: Sending, outage: Outage) -> Step<State> {
    match outage {
        Outage::Unreachable => sending.rest(cx),
        // The provider may have taken it; a second submission could be billed twice.
        Outage::Timeout | Outage::Broken | Outage::TooLarge => {
            log::warn("the answer to a submission was lost", &[("outage", outage.as_str())]);
            sending.fail(failure::unavailable())
        }
        Outage::Refused => {
            log::error("the host refused to make the submission, see the provider's configuration", &[]);
            sending.fail(failure::unavailable())
        }
    }
}
