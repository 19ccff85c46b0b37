//! The table of markers: every way a request to a text provider can ask for trouble.

use self::Argument::{Maybe, None, Number, Times};
use super::faults::Mark;

/// What understands a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Both protocols.
    Both,
    /// The chat completions alone.
    Chat,
    /// The Messages API alone.
    Messages,
}

/// What may follow a marker's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    /// Nothing.
    None,
    /// `:N`, which may be left out.
    Maybe,
    /// `:N`, which may not.
    Number,
    /// `:K`: only the first K requests with the very same last text.
    Times,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Marker {
    pub(super) mark: Mark,
    /// What stands between the brackets, without its argument.
    pub name: &'static str,
    pub(super) argument: Argument,
    /// Who understands it.
    pub protocol: Protocol,
    /// What it does.
    pub says: &'static str,
}

const fn row(mark: Mark, name: &'static str, argument: Argument, says: &'static str) -> Marker {
    Marker { mark, name, argument, protocol: Protocol::Both, says }
}

const fn of(protocol: Protocol, row: Marker) -> Marker {
    Marker { protocol, ..row }
}

/// Every marker. `:K` after a refusal limits it to the first K requests with the same last text; after a fault of
/// a stream it says after how many deltas (one, where it is left out).
pub const MARKERS: &[Marker] = &[
    row(Mark::Invalid, "400", Times, "answers 400"),
    row(Mark::Key, "401", Times, "answers 401"),
    row(Mark::Billing, "402", Times, "answers 402"),
    row(Mark::Forbidden, "403", Times, "answers 403"),
    row(Mark::Missing, "404", Times, "answers 404"),
    row(Mark::TooLarge, "413", Times, "answers 413"),
    row(Mark::TooMany, "429", Times, "answers 429 with retry-after"),
    row(Mark::TooManyBare, "429-bare", Times, "answers 429 without retry-after"),
    row(Mark::Broken, "500", Times, "answers 500"),
    row(Mark::Html, "502-html", Times, "answers 502 with an HTML page"),
    row(Mark::Unavailable, "503", Times, "answers 503"),
    row(Mark::Late, "504", Times, "answers 504"),
    row(Mark::Overloaded, "529", Times, "answers 529"),
    row(Mark::NoReply, "no-reply", Times, "closes the connection without a reply"),
    of(Protocol::Messages, row(Mark::Credit, "credit", Times, "answers 400, the credit balance is too low")),
    of(Protocol::Chat, row(Mark::Quota, "quota", Times, "answers 429, insufficient_quota")),
    row(Mark::SlowStart, "slow-start", None, "nothing comes, not even a refusal, until the sandbox lets go"),
    row(Mark::SlowEvent, "slow-event", None, "the head comes, then nothing until the sandbox lets go"),
    row(Mark::Stall, "stall", Maybe, "after K deltas nothing comes until the sandbox lets go"),
    row(Mark::Cut, "cut", Maybe, "the body ends cleanly after K deltas"),
    row(Mark::Abort, "abort", Maybe, "the connection closes inside the body after K deltas"),
    row(Mark::Reset, "reset", Maybe, "the connection is reset in the middle of a chunk after K deltas"),
    row(Mark::ErrorEvent, "error", Maybe, "an error event after K deltas, then the end"),
    row(Mark::NoEnd, "no-end", None, "the event that ends the stream is missing"),
    row(Mark::NoUsage, "no-usage", None, "no usage anywhere"),
    row(Mark::NoOutput, "no-output", None, "an answer without content"),
    row(Mark::WrongType, "wrong-type", None, "the right body under a content type that is not its own"),
    row(Mark::JsonForStream, "json-for-stream", None, "a stream was asked for, one JSON body comes"),
    row(Mark::StreamForJson, "stream-for-json", None, "one JSON body was asked for, a stream comes"),
    row(Mark::ErrorBody, "error-200", None, "200 with an error object for a body"),
    row(Mark::HugeLine, "huge-line", None, "one event is a line of a mebibyte"),
    row(Mark::Gzip, "gzip", None, "the body comes compressed, asked for or not"),
    row(Mark::BadArguments, "bad-arguments", None, "a tool is called with what is not JSON"),
    row(Mark::CutTool, "cut-tool", None, "a tool call is cut short as if by the limit of tokens"),
    row(Mark::Refusal, "refusal", None, "the model refuses"),
    row(Mark::Words, "words", Number, "the answer has exactly N words"),
    row(Mark::Pace, "pace", Number, "N milliseconds between events"),
    row(Mark::Crlf, "crlf", None, "lines end with CR LF"),
    row(Mark::Comments, "comments", None, "comment lines between events"),
    row(Mark::Bytes, "bytes", None, "every byte is a write of its own"),
    row(Mark::OneWrite, "one-write", None, "the whole stream in one write"),
    row(Mark::OddEvent, "odd-event", None, "an event of a kind nobody knows"),
    row(Mark::Tool, "tool", None, "calls the first tool"),
    row(Mark::Tools, "tools", Number, "calls N tools in parallel, the first again where there are fewer"),
    of(Protocol::Messages, row(Mark::Redacted, "redacted", None, "redacted thinking after the thinking")),
    of(Protocol::Messages, row(Mark::PauseTurn, "pause-turn", None, "stops with pause_turn")),
    of(Protocol::Messages, row(Mark::Pings, "pings", Maybe, "a ping after every K deltas")),
    of(Protocol::Chat, row(Mark::DoneEarly, "done-early", None, "[DONE] without a finish_reason")),
    of(Protocol::Chat, row(Mark::Interleaved, "interleaved", None, "deltas of parallel calls take turns")),
    of(Protocol::Chat, row(Mark::Obfuscation, "obfuscation", None, "filler in every chunk")),
    of(Protocol::Chat, row(Mark::Filtered, "content-filter", None, "stops with content_filter")),
];
