//! What a protocol plans to reply: an answer with its events and faults, or an error. Plain data.

use http::StatusCode;
use serde_json::Value;

use crate::text::answer::seed::Seed;
use crate::text::faults::Faults;
use crate::text::record::Usage;

/// What an event is to the stream's trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A piece of the answer: these are counted.
    Delta,
    /// The one after which nothing comes.
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
    pub(crate) part: EventKind,
}

impl Event {
    /// The same event with spaces before its last brace.
    pub(crate) fn padded(&self, spaces: usize) -> Self {
        let mut padded = self.clone();
        if let Some(end) = padded.data.rfind('}') {
            padded.data.insert_str(end, &" ".repeat(spaces));
        }
        padded
    }
}

/// Everything a wire has to say to one request.
pub(crate) struct ReplyPlan {
    /// The answer in one piece.
    pub(crate) whole: Value,
    /// The same answer as events.
    pub(crate) events: Vec<Event>,
    /// What an error looks like inside a stream, and as a body.
    pub(crate) error: Event,
    pub(crate) error_body: Value,
    /// An event no client can know.
    pub(crate) odd: Event,
    /// A stream was asked for.
    pub(crate) streams: bool,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) usage: Usage,
    pub(crate) faults: Faults,
    pub(crate) seed: Seed,
}

/// A reply that is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ErrorReply {
    pub(crate) status: StatusCode,
    pub(crate) mime: &'static str,
    pub(crate) body: String,
    pub(crate) headers: Vec<(&'static str, String)>,
}
