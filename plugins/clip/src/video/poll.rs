//! Polls: when to poll, and what each answer means. A poll is harmless to repeat, so a lost or unreadable answer
//! is polled again. Also the end of a task that its client does not want any more.

use std::ops::RangeInclusive;
use std::time::Duration;

use gatehouse_sdk::job::{Next, Polls};
use gatehouse_sdk::{Action, Cause, Context, Event, Failure, Outcome, Stage, Step, log, pace};
use serde_json::json;

use crate::video::provider::{self, Answer, POLICY, Ready};
use crate::video::request::VideoRequest;
use crate::video::state::{Job, VideoState};

/// The usual duration of a task.
pub(crate) const USUAL_DURATION: Duration = Duration::from_secs(150);
/// The provider reports no progress. These are a task in the queue, and one just begun and about to end.
const QUEUED: u8 = 5;
const ESTIMATED: RangeInclusive<u8> = 10..=95;

/// The provider has accepted it.
pub(crate) fn accepted(cx: &Context, id: String, request: &VideoRequest) -> Step<VideoState> {
    let mut polls = Polls::new(cx, id);
    polls.reach(QUEUED);
    let wait = polls.rest(cx);
    let job = Job {
        model: request.model,
        return_last_frame: request.return_last_frame,
        is_running: false,
        is_unwanted: false,
        last_frame: None,
        without_frame: false,
        polls,
    };
    job.then(VideoState::Running, wait)
}

pub(crate) fn step(cx: &Context, mut job: Job, event: Event) -> Step<VideoState> {
    let was_unwanted = std::mem::take(&mut job.is_unwanted);
    let action = match event {
        // What is queued can be stopped, what runs cannot. What is finished would be deleted, though it was billed.
        Event::Cancel(Cause::Client) if !job.is_running => {
            job.is_unwanted = true;
            Action::Call(provider::poll(&job.polls.id))
        }
        // The task ends without its video, whatever the provider has made.
        Event::Cancel(Cause::Deadline) if !job.is_running => return job.stop(),
        Event::Lost((source, reason)) if job.last_frame.as_ref() == Some(&source) => {
            log::warn("a last frame could not be copied, the video goes without it", &[("reason", &reason)]);
            job.without_frame = true;
            job.polls.rest(cx)
        }
        event => {
            let read = |reply: &_| provider::polled(cx, job.model, reply);
            match job.polls.step(cx, &POLICY, event, provider::poll, read) {
                Next::Action(action) => action,
                Next::Answer(Answer::Queued) if was_unwanted => return job.stop(),
                Next::Answer(answer) => job.answered(cx, answer),
            }
        }
    };
    job.then(VideoState::Running, action)
}

/// The answer to the call that stops the task. Unless it is stopped, it goes on.
pub(crate) fn stopping(cx: &Context, job: Job, event: Event) -> Step<VideoState> {
    let action = match event {
        Event::Reply(reply) if reply.is_success() => {
            Action::Fail(Failure::request("cancelled while it was queued").into())
        }
        Event::Reply(_) | Event::Outage(_) | Event::Timer => job.polls.rest(cx),
        Event::Cancel(_) => {
            let wait = job.polls.rest(cx);
            return job.then(VideoState::Stopping, wait);
        }
        other => Action::Fail(POLICY.unexpected(&other).into()),
    };
    job.then(VideoState::Running, action)
}

impl Job {
    /// Takes it out of the provider's queue.
    fn stop(self) -> Step<VideoState> {
        let call = Action::Call(provider::stop(&self.polls.id));
        self.then(VideoState::Stopping, call)
    }

    /// A step with the job's stage and progress on it.
    fn then(self, state: impl FnOnce(Self) -> VideoState, action: Action) -> Step<VideoState> {
        let stage = if self.is_running { Stage::Processing } else { Stage::Pending };
        let progress = self.polls.progress();
        Step::new(state(self), action).stage(stage).progress(progress)
    }

    fn answered(&mut self, cx: &Context, answer: Answer) -> Action {
        match answer {
            Answer::Queued => {}
            Answer::Running => {
                self.is_running = true;
                self.polls.reach(pace::estimate(cx, self.polls.since, USUAL_DURATION, ESTIMATED));
            }
            Answer::Ready(ready) => return Action::Done(self.outcome(ready)),
        }
        self.polls.rest(cx)
    }

    /// The result. The last frame is there when it was asked for, came, and can be copied: the provider does not always
    /// give it.
    fn outcome(&mut self, ready: Ready) -> Outcome {
        let asked = self.return_last_frame && !self.without_frame;
        self.last_frame = ready.last_frame.filter(|_| asked);
        self.is_running = true;
        let mut private = ready.private;
        private["id"] = json!(self.polls.id);
        let mut public = json!({"videos": [{"url": ["media:0"], "expires_at": "expires:0"}]});
        if self.last_frame.is_some() {
            public["last_frame_url"] = json!("media:1");
        }
        let outcome = Outcome::new(public).product(ready.video, Some("video/mp4")).private(private);
        match &self.last_frame {
            Some(frame) => outcome.product(frame, None),
            None => outcome,
        }
    }
}
