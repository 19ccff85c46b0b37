//! The steps of a task, one event at a time.
//!
//! ```text
//! Accepted --start--> (probe a sound or a video) --> Sending --200--> Running --SUCCEEDED--> done
//!                                                     |    ^           |   ^                  |
//!                                          throttled, `-wait'  PENDING `-wait'<---copy lost---'
//!                                          no connection       RUNNING
//! ```
//! `provider` reads the answers. It reports no percentage; the progress is 5 while a task waits and 10 to 95 by its age
//! while it is worked on.

use std::ops::RangeInclusive;

use gatehouse_sdk::job::{Attempts, Next, Polls};
use gatehouse_sdk::{Action, Charge, Context, Event, Outcome, Probe, Stage, Step, pace};
use serde_json::json;

use crate::provider::{self, Answer, POLICY};
use crate::request::{LaterCharge, USUAL_DURATION, VideoRequest};
use crate::state::{Job, Sending, State};

/// The progress of a task that waits.
const WAITING: u8 = 5;
/// The progress of one that is worked on, from the first to the highest.
const WORKING: RangeInclusive<u8> = 10..=95;

pub(crate) fn step(cx: &Context, state: State, event: Event) -> Step<State> {
    match state {
        State::Accepted(request) => begin(cx, request, event),
        State::Sending(sending) => send(cx, sending, event),
        State::Running(job) => poll(cx, job, event),
    }
}

/// Probes the source that has a rule, if there is one, and sends the submission.
fn begin(cx: &Context, mut request: VideoRequest, event: Event) -> Step<State> {
    let failure = match (event, &request.check) {
        (Event::Start(_), None) => return submit(cx, request),
        (Event::Start(_), Some(check)) => {
            let probe = Probe::look(&check.source);
            return Step::probe(State::Accepted(request), vec![probe]);
        }
        (Event::Probed(findings), Some(_)) if findings.len() == 1 => match request.settle(&findings[0]) {
            Ok(()) => return submit(cx, request),
            Err(failure) => failure,
        },
        (Event::Cancel(_), _) => POLICY.cancelled(),
        (other, _) => POLICY.unexpected(&other),
    };
    Step::fail(State::Accepted(request), failure)
}

/// The first try.
fn submit(cx: &Context, request: VideoRequest) -> Step<State> {
    let call = provider::submission(cx, &request);
    Step::call(State::Sending(Sending { request, attempts: Attempts::default() }), call)
}

fn send(cx: &Context, mut sending: Sending, event: Event) -> Step<State> {
    let call = || provider::submission(cx, &sending.request);
    match sending.attempts.step(cx, &POLICY, event, call, provider::submitted) {
        Next::Action(action) => {
            let stage = sending.attempts.stage();
            Step::new(State::Sending(sending), action).stage(stage)
        }
        Next::Answer(id) => {
            let polls = Polls::new(cx, id);
            let wait = polls.rest(cx);
            let charge = sending.request.later_charge();
            Job { begun: None, cancelling: false, charge, polls }.then(wait)
        }
    }
}

fn poll(cx: &Context, mut job: Job, event: Event) -> Step<State> {
    let was_cancelling = std::mem::take(&mut job.cancelling);
    let action = match event {
        // The provider cancels only what it has not begun.
        Event::Cancel(_) if job.begun.is_none() => {
            job.cancelling = true;
            Action::Call(provider::cancel(&job.polls.id))
        }
        Event::Reply(reply) if was_cancelling => match reply.status {
            200..300 => Action::Fail(POLICY.cancelled().into()),
            // It is worked on already, or over.
            _ => Action::Call(provider::poll(&job.polls.id)),
        },
        event => match job.polls.step(cx, &POLICY, event, provider::poll, provider::polled) {
            Next::Action(action) => action,
            Next::Answer(answer) => job.answered(cx, answer),
        },
    };
    job.then(action)
}

impl Job {
    fn answered(&mut self, cx: &Context, answer: Answer) -> Action {
        match answer {
            Answer::Waiting => self.polls.reach(WAITING),
            Answer::Working => {
                let begun = *self.begun.get_or_insert(cx.now);
                self.polls.reach(pace::estimate(cx, begun, USUAL_DURATION, WORKING));
            }
            Answer::Ready { video } => {
                self.begun.get_or_insert(cx.now);
                self.polls.reach(*WORKING.end());
                let public = json!({"videos": [{"url": ["media:0"], "expires_at": "expires:0"}]});
                let private = json!({"id": self.polls.id});
                let outcome = Outcome::new(public).product(video, Some("video/mp4")).private(private);
                return Action::Done(match &self.charge {
                    Some(LaterCharge { keys, seconds }) => {
                        outcome.settle(Charge::keys(keys.clone()).times((*seconds).into()))
                    }
                    None => outcome,
                });
            }
        }
        self.polls.rest(cx)
    }

    /// A step with the job's stage and progress on it.
    fn then(self, action: Action) -> Step<State> {
        let stage = if self.begun.is_some() { Stage::Processing } else { Stage::Pending };
        let progress = self.polls.progress();
        Step::new(State::Running(self), action).stage(stage).progress(progress)
    }
}
