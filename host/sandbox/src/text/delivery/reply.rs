//! A planned reply: an answer with its events and faults, or a body in one piece. Plain data.

use serde_json::Value;

use crate::text::answer::seed::Seed;
use crate::text::markers::Faults;
use crate::text::record::Usage;

/// How the faults of a stream treat an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A piece of the answer. Faults count these.
    Delta,
    /// The last event.
    End,
    /// All others.
    Frame,
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: Option<&'static str>,
    /// One line.
    pub(crate) data: String,
    pub(crate) kind: EventKind,
}

impl Event {
    /// The same event with spaces before its last brace.
    pub(crate) fn padded(mut self, spaces: usize) -> Self {
        if let Some(end) = self.data.rfind('}') {
            self.data.insert_str(end, &" ".repeat(spaces));
        }
        self
    }
}

/// The reply to an accepted request.
pub(crate) struct ReplyPlan {
    /// The answer in one piece.
    pub(crate) whole: Value,
    /// The same answer as events.
    pub(crate) events: Vec<Event>,
    /// An error inside a stream.
    pub(crate) error: Event,
    /// The same error as a body.
    pub(crate) error_body: Value,
    /// An event no client knows.
    pub(crate) odd: Event,
    /// The request asks for a stream.
    pub(crate) streams: bool,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) usage: Usage,
    pub(crate) faults: Faults,
    pub(crate) seed: Seed,
}
