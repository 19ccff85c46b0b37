//! The table of markers: every fault that a request to a text provider can ask for.

use self::Argument::{Maybe, None, Number, Times};

/// A fault. Documented in the table of markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    Abort,
    BadArguments,
    Billing,
    Broken,
    Bytes,
    Comments,
    Credit,
    Crlf,
    Cut,
    CutTool,
    DoneEarly,
    ErrorBody,
    ErrorEvent,
    Filtered,
    Forbidden,
    Gzip,
    Html,
    HugeLine,
    Interleaved,
    Invalid,
    JsonForStream,
    Key,
    Late,
    Missing,
    NoEnd,
    NoOutput,
    NoReply,
    NoUsage,
    Obfuscation,
    OddEvent,
    OneWrite,
    Overloaded,
    Pace,
    PauseTurn,
    Pings,
    Quota,
    Redacted,
    Refusal,
    Reset,
    SlowEvent,
    SlowStart,
    Stall,
    StreamForJson,
    Tool,
    Tools,
    TooLarge,
    TooMany,
    TooManyBare,
    Unavailable,
    Words,
    WrongType,
}

/// The protocol of a marker.
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
pub(crate) enum Argument {
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
pub struct MarkerInfo {
    pub(crate) marker: Marker,
    /// What stands between the brackets, without its argument.
    pub name: &'static str,
    pub(crate) argument: Argument,
    /// The protocol that knows it.
    pub protocol: Protocol,
    /// What it does.
    pub says: &'static str,
}

const fn row(marker: Marker, name: &'static str, argument: Argument, says: &'static str) -> MarkerInfo {
    MarkerInfo { marker, name, argument, protocol: Protocol::Both, says }
}

const fn of(protocol: Protocol, row: MarkerInfo) -> MarkerInfo {
    MarkerInfo { protocol, ..row }
}

/// Every marker. `:K` after a refusal limits it to the first K requests with the same last text; after a fault of
/// a stream it says after how many deltas (one, where it is left out).
pub const MARKERS: &[MarkerInfo] = &[
    row(Marker::Invalid, "400", Times, "answers 400"),
    row(Marker::Key, "401", Times, "answers 401"),
    row(Marker::Billing, "402", Times, "answers 402"),
    row(Marker::Forbidden, "403", Times, "answers 403"),
    row(Marker::Missing, "404", Times, "answers 404"),
    row(Marker::TooLarge, "413", Times, "answers 413"),
    row(Marker::TooMany, "429", Times, "answers 429 with retry-after"),
    row(Marker::TooManyBare, "429-bare", Times, "answers 429 without retry-after"),
    row(Marker::Broken, "500", Times, "answers 500"),
    row(Marker::Html, "502-html", Times, "answers 502 with an HTML page"),
    row(Marker::Unavailable, "503", Times, "answers 503"),
    row(Marker::Late, "504", Times, "answers 504"),
    row(Marker::Overloaded, "529", Times, "answers 529"),
    row(Marker::NoReply, "no-reply", Times, "closes the connection without a reply"),
    of(
        Protocol::Messages,
        row(Marker::Credit, "credit", Times, "answers 400, the credit balance is too low"),
    ),
    of(Protocol::Chat, row(Marker::Quota, "quota", Times, "answers 429, insufficient_quota")),
    row(
        Marker::SlowStart,
        "slow-start",
        None,
        "nothing comes, not even a refusal, until the sandbox lets go",
    ),
    row(Marker::SlowEvent, "slow-event", None, "the head comes, then nothing until the sandbox lets go"),
    row(Marker::Stall, "stall", Maybe, "after K deltas nothing comes until the sandbox lets go"),
    row(Marker::Cut, "cut", Maybe, "the body ends cleanly after K deltas"),
    row(Marker::Abort, "abort", Maybe, "the connection closes inside the body after K deltas"),
    row(Marker::Reset, "reset", Maybe, "the connection is reset in the middle of a chunk after K deltas"),
    row(Marker::ErrorEvent, "error", Maybe, "an error event after K deltas, then the end"),
    row(Marker::NoEnd, "no-end", None, "the event that ends the stream is missing"),
    row(Marker::NoUsage, "no-usage", None, "no usage anywhere"),
    row(Marker::NoOutput, "no-output", None, "an answer without content"),
    row(Marker::WrongType, "wrong-type", None, "the right body under a content type that is not its own"),
    row(Marker::JsonForStream, "json-for-stream", None, "a stream was asked for, one JSON body comes"),
    row(Marker::StreamForJson, "stream-for-json", None, "one JSON body was asked for, a stream comes"),
    row(Marker::ErrorBody, "error-200", None, "200 with an error object for a body"),
    row(Marker::HugeLine, "huge-line", None, "one event is a line of a mebibyte"),
    row(Marker::Gzip, "gzip", None, "the body comes compressed, asked for or not"),
    row(Marker::BadArguments, "bad-arguments", None, "a tool is called with what is not JSON"),
    row(Marker::CutTool, "cut-tool", None, "a tool call is cut short as if by the limit of tokens"),
    row(Marker::Refusal, "refusal", None, "the model refuses"),
    row(Marker::Words, "words", Number, "the answer has exactly N words"),
    row(Marker::Pace, "pace", Number, "N milliseconds between events"),
    row(Marker::Crlf, "crlf", None, "lines end with CR LF"),
    row(Marker::Comments, "comments", None, "comment lines between events"),
    row(Marker::Bytes, "bytes", None, "every byte is a write of its own"),
    row(Marker::OneWrite, "one-write", None, "the whole stream in one write"),
    row(Marker::OddEvent, "odd-event", None, "an event of an unknown kind"),
    row(Marker::Tool, "tool", None, "calls the first tool"),
    row(Marker::Tools, "tools", Number, "calls N tools in parallel, the first again where there are fewer"),
    of(Protocol::Messages, row(Marker::Redacted, "redacted", None, "redacted thinking after the thinking")),
    of(Protocol::Messages, row(Marker::PauseTurn, "pause-turn", None, "stops with pause_turn")),
    of(Protocol::Messages, row(Marker::Pings, "pings", Maybe, "a ping after every K deltas")),
    of(Protocol::Chat, row(Marker::DoneEarly, "done-early", None, "[DONE] without a finish_reason")),
    of(Protocol::Chat, row(Marker::Interleaved, "interleaved", None, "deltas of parallel calls take turns")),
    of(Protocol::Chat, row(Marker::Obfuscation, "obfuscation", None, "filler in every chunk")),
    of(Protocol::Chat, row(Marker::Filtered, "content-filter", None, "stops with content_filter")),
];
