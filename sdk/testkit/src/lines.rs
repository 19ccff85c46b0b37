//! The lines of a script: what the family is told and asked, and what it must return. Only records; `player` runs them.

use std::fmt;
use std::panic::Location;
use std::path::PathBuf;
use std::time::Duration;

use gatehouse_sdk::{
    Accepted, Blame, Call, Cause, DialectRequest, DirectRequest, Ending, Facts, Outage, Outcome, Probe,
    Reply, Sse, Stage, Submission, TaskView, TextRequest, View,
};
use serde_json::Value;

/// Checks what the family returned; panics (usually by `assert!`) when it is not as expected.
pub(crate) type Check<T> = Box<dyn Fn(&T)>;

/// One line of a script.
pub(crate) enum Line {
    Later(Duration),
    Submit(Submission),
    Feed(Feed),
    Ask(Ask),
    Expect(Expect),
}

impl Line {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Later(_) => "later",
            Self::Submit(_) => "submit",
            Self::Feed(feed) => feed.name(),
            Self::Ask(ask) => ask.name(),
            Self::Expect(expect) => expect.name(),
        }
    }
}

/// Where a line stands.
#[derive(Clone)]
pub(crate) enum Position {
    Code(&'static Location<'static>),
    /// A file, and its line counted from 1.
    File(PathBuf, usize),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(location) => location.fmt(f),
            Self::File(file, line) => write!(f, "{}:{line}", file.display()),
        }
    }
}

/// What the family is told.
pub(crate) enum Feed {
    Start,
    Joined(Vec<u8>),
    Reply(Reply),
    Outage(Outage),
    Probed(Vec<Result<Facts, String>>),
    Timer,
    Cancel(Cause),
    Lost(String),
}

impl Feed {
    fn name(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Joined(_) => "joined",
            Self::Reply(_) => "reply",
            Self::Outage(_) => "outage",
            Self::Probed(_) => "probed",
            Self::Timer => "timer",
            Self::Cancel(Cause::Client) => "cancel",
            Self::Cancel(Cause::Deadline) => "deadline",
            Self::Lost(_) => "lost",
        }
    }
}

/// What the family is asked beside the steps of a task.
pub(crate) enum Ask {
    /// Renders a task on a surface of the family's own.
    Render(String, Box<TaskView>),
    /// Rewrites the state of an older version, which is the task's from then on.
    Migrate(u32, Vec<u8>),
    /// Makes one call of the items of a key.
    Merge(String, Vec<String>),
    /// Reads the reply to it.
    Split(String, Vec<String>, Reply),
    /// A client's text request.
    Text(Box<TextRequest>),
    /// A Messages request for a dialect.
    Translate(Box<DialectRequest>),
    /// A client's request that is answered at once.
    Direct(Box<DirectRequest>),
    /// The provider's whole answer to it, or to a text request.
    Answer(Reply),
    /// The next events of the provider's stream.
    Events(Vec<Sse>),
    /// The end of the provider's stream.
    End,
}

impl Ask {
    fn name(&self) -> &'static str {
        match self {
            Self::Render(..) => "render",
            Self::Migrate(..) => "migrate",
            Self::Merge(..) => "merge",
            Self::Split(..) => "split",
            Self::Text(_) => "text",
            Self::Translate(_) => "translate",
            Self::Direct(_) => "direct",
            Self::Answer(_) => "answer",
            Self::Events(_) => "events",
            Self::End => "end",
        }
    }
}

/// What the family must return.
pub(crate) enum Expect {
    Accepted(Check<Accepted<Vec<u8>>>),
    Doomed(String),
    Refused(Option<String>, String),
    Call(Check<Call>),
    Probe(Check<Vec<Probe>>),
    Wait(Check<Duration>),
    Done(Check<Outcome>),
    Fail(Blame, String),
    FailWith(Check<Ending>),
    View(Check<View>),
    Stage(Stage),
    Progress(u8),
    /// A part of the answer as JSON.
    Part(Value),
}

impl Expect {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Accepted(_) => "expect_accepted",
            Self::Doomed(_) => "expect_doomed",
            Self::Refused(..) => "expect_refused",
            Self::Call(_) => "expect_call",
            Self::Probe(_) => "expect_probe",
            Self::Wait(_) => "expect_wait",
            Self::Done(_) => "expect_done",
            Self::Fail(..) => "expect_fail",
            Self::FailWith(_) => "expect_fail_with",
            Self::View(_) => "expect_view",
            Self::Stage(_) => "expect_stage",
            Self::Progress(_) => "expect_progress",
            Self::Part(_) => "expect",
        }
    }
}
