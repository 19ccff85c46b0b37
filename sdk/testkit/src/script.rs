//! A script and its builders, and facts for it to find. `player` runs it.

use std::panic::Location;
use std::time::Duration;

use gatehouse_sdk::{
    Accepted, Blame, Call, Cause, Context, Ending, Facts, MediaKind, Outage, Outcome, Probe, Reply, Stage,
    Submission, UnixMs, View,
};
use serde_json::Value;

use crate::lines::{Expect, Feed, Line, Position};

/// The start of a script's clock: noon of some day.
const NOON: UnixMs = UnixMs(1_767_268_800_000);

/// A script: what a client sends, what the provider answers, what the family must return.
///
/// Lines that tell the family something alternate with `expect_*` lines. At least one line must expect each
/// result of the family. A line at the wrong moment (a reply without a call) fails the script.
pub struct Script {
    pub(crate) cx: Context,
    pub(crate) lines: Vec<(Line, Position)>,
}

impl Default for Script {
    fn default() -> Self {
        Self::new()
    }
}

impl Script {
    /// An empty script: noon, seed 7, no settings.
    #[must_use]
    pub fn new() -> Self {
        Self { cx: Context { seed: 7, ..Context::at(NOON) }, lines: Vec::new() }
    }

    /// Sets the start of the clock.
    #[must_use]
    pub fn at(mut self, now: UnixMs) -> Self {
        self.cx = Context { now, accepted_at: now, deadline: Context::at(now).deadline, ..self.cx };
        self
    }

    /// Sets how long after its acceptance the host fails the task; 30 minutes without it.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.cx.deadline = self.cx.accepted_at.plus(limit);
        self
    }

    /// Sets the seed of the task.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.cx.seed = seed;
        self
    }

    /// Sets the operator's settings of the plugin.
    #[must_use]
    pub fn settings(mut self, settings: Value) -> Self {
        self.cx.settings = settings;
        self
    }

    #[track_caller]
    fn line(mut self, line: Line) -> Self {
        self.lines.push((line, Position::Code(Location::caller())));
        self
    }

    #[track_caller]
    fn feed(self, feed: Feed) -> Self {
        self.line(Line::Feed(feed))
    }

    #[track_caller]
    fn expect(self, expect: Expect) -> Self {
        self.line(Line::Expect(expect))
    }

    /// Time goes by.
    #[must_use]
    #[track_caller]
    pub fn later(self, span: Duration) -> Self {
        self.line(Line::Later(span))
    }

    /// A client sends a body.
    #[must_use]
    #[track_caller]
    pub fn submit(self, surface: &str, body: Value) -> Self {
        self.submit_whole(Submission::new(surface, body))
    }

    /// A client sends a body with blobs cut out of it, about a parent, or with names of its own.
    #[must_use]
    #[track_caller]
    pub fn submit_whole(self, request: Submission) -> Self {
        self.line(Line::Submit(request))
    }

    /// The host starts the accepted task.
    #[must_use]
    #[track_caller]
    pub fn start(self) -> Self {
        self.feed(Feed::Start)
    }

    /// The provider answers the call with JSON.
    #[must_use]
    #[track_caller]
    pub fn reply(self, status: u16, body: Value) -> Self {
        self.reply_whole(Reply::new(status, &body))
    }

    /// The provider answers the call.
    #[must_use]
    #[track_caller]
    pub fn reply_whole(self, reply: Reply) -> Self {
        self.feed(Feed::Reply(reply))
    }

    /// No answer to the call.
    #[must_use]
    #[track_caller]
    pub fn outage(self, outage: Outage) -> Self {
        self.feed(Feed::Outage(outage))
    }

    /// What the host found, in the order of the probes.
    #[must_use]
    #[track_caller]
    pub fn probed(self, found: impl IntoIterator<Item = Result<Facts, &'static str>>) -> Self {
        let found = found.into_iter().map(|found| found.map_err(str::to_owned)).collect();
        self.feed(Feed::Probed(found))
    }

    /// The clock moves to the moment the family waits for (unless it is past it), and the wait is over.
    #[must_use]
    #[track_caller]
    pub fn timer(self) -> Self {
        self.feed(Feed::Timer)
    }

    /// A request joins the running task, with the brief that its submission returned.
    #[must_use]
    #[track_caller]
    pub fn joined(self, brief: impl Into<Vec<u8>>) -> Self {
        self.feed(Feed::Joined(brief.into()))
    }

    /// The client wants the task stopped.
    #[must_use]
    #[track_caller]
    pub fn cancel(self) -> Self {
        self.feed(Feed::Cancel(Cause::Client))
    }

    /// The task's time is over; the host fails it whatever the family answers.
    #[must_use]
    #[track_caller]
    pub fn deadline(self) -> Self {
        self.feed(Feed::Cancel(Cause::Deadline))
    }

    /// The first product of the last result or view could not be copied.
    #[must_use]
    #[track_caller]
    pub fn lost(self, reason: &str) -> Self {
        self.feed(Feed::Lost(reason.to_owned()))
    }

    /// Accepted, and not doomed.
    #[must_use]
    #[track_caller]
    pub fn expect_accepted(self, check: impl Fn(&Accepted<Vec<u8>>) + 'static) -> Self {
        self.expect(Expect::Accepted(Box::new(check)))
    }

    /// Accepted only to fail, with exactly this message.
    #[must_use]
    #[track_caller]
    pub fn expect_doomed(self, message: &str) -> Self {
        self.expect(Expect::Doomed(message.to_owned()))
    }

    /// Refused because of `field` (empty: the whole body), with exactly this message.
    #[must_use]
    #[track_caller]
    pub fn expect_refused(self, field: &str, message: &str) -> Self {
        let field = (!field.is_empty()).then(|| field.to_owned());
        self.expect(Expect::Refused(field, message.to_owned()))
    }

    /// An upstream request.
    #[must_use]
    #[track_caller]
    pub fn expect_call(self, check: impl Fn(&Call) + 'static) -> Self {
        self.expect(Expect::Call(Box::new(check)))
    }

    /// Probes of media.
    #[must_use]
    #[track_caller]
    pub fn expect_probe(self, check: impl Fn(&Vec<Probe>) + 'static) -> Self {
        self.expect(Expect::Probe(Box::new(check)))
    }

    /// A wait; the check reads its length from now.
    #[must_use]
    #[track_caller]
    pub fn expect_wait(self, check: impl Fn(&Duration) + 'static) -> Self {
        self.expect(Expect::Wait(Box::new(check)))
    }

    /// The task completes.
    #[must_use]
    #[track_caller]
    pub fn expect_done(self, check: impl Fn(&Outcome) + 'static) -> Self {
        self.expect(Expect::Done(Box::new(check)))
    }

    /// The task fails, with exactly this message.
    #[must_use]
    #[track_caller]
    pub fn expect_fail(self, blame: Blame, message: &str) -> Self {
        self.expect(Expect::Fail(blame, message.to_owned()))
    }

    /// The task fails; the check reads the whole end.
    #[must_use]
    #[track_caller]
    pub fn expect_fail_with(self, check: impl Fn(&Ending) + 'static) -> Self {
        self.expect(Expect::FailWith(Box::new(check)))
    }

    /// The last step shows a view.
    #[must_use]
    #[track_caller]
    pub fn expect_view(self, check: impl Fn(&View) + 'static) -> Self {
        self.expect(Expect::View(Box::new(check)))
    }

    /// The stage of the last step.
    #[must_use]
    #[track_caller]
    pub fn expect_stage(self, stage: Stage) -> Self {
        self.expect(Expect::Stage(stage))
    }

    /// The progress of the last step.
    #[must_use]
    #[track_caller]
    pub fn expect_progress(self, percent: u8) -> Self {
        self.expect(Expect::Progress(percent))
    }
}

/// A PNG of that size, kept by the host as `blob`.
///
/// ```
/// let facts = gatehouse_testkit::picture(640, 480, "blob:1");
/// assert_eq!(facts.pixels(), Some(307_200));
/// ```
#[must_use]
pub fn picture(width: u32, height: u32, blob: &str) -> Facts {
    Facts {
        width: Some(width),
        height: Some(height),
        has_alpha: Some(false),
        blob: Some(blob.to_owned()),
        ..Facts::new(MediaKind::Image, "image/png", 1_000)
    }
}
