//! The markers of the text providers: every fault that a request can ask for in the last text of the user.

use crate::common::markers::Argument::{Maybe, None, Number, Times};
use crate::common::markers::{self, EVER, markers};

/// The protocol of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// All protocols.
    All,
    /// The chat completions alone.
    Chat,
    /// The Messages API alone.
    Messages,
}

// A refusal with `:K` answers the first K requests with the same last text; after a fault of a stream the number says
// after how many deltas it comes (one, where it is left out).
markers! {
    Protocol;
    Invalid "400" Times(EVER), All "answers 400";
    Key "401" Times(EVER), All "answers 401";
    Billing "402" Times(EVER), All "answers 402";
    Forbidden "403" Times(EVER), All "answers 403";
    Missing "404" Times(EVER), All "answers 404";
    TooLarge "413" Times(EVER), All "answers 413";
    TooMany "429" Times(EVER), All "answers 429 with retry-after";
    TooManyBare "429-bare" Times(EVER), All "answers 429 without retry-after";
    Broken "500" Times(EVER), All "answers 500";
    Html "502-html" Times(EVER), All "answers 502 with an HTML page";
    Unavailable "503" Times(EVER), All "answers 503";
    Late "504" Times(EVER), All "answers 504";
    Overloaded "529" Times(EVER), All "answers 529";
    NoReply "no-reply" Times(EVER), All "closes the connection without a reply";
    Credit "credit" Times(EVER), Messages "answers 400, the credit balance is too low";
    Quota "quota" Times(EVER), Chat "answers 429, insufficient_quota";
    SlowStart "slow-start" None, All "nothing comes, not even a refusal, until the sandbox releases it";
    SlowEvent "slow-event" None, All "the head comes, then nothing until the sandbox releases it";
    KeepAlives "keep-alives" None, All "the head of a stream comes, then comment lines until the sandbox releases it";
    Stall "stall" Maybe, All "after K deltas nothing comes until the sandbox releases it";
    Cut "cut" Maybe, All "the body ends cleanly after K deltas";
    Abort "abort" Maybe, All "the connection closes inside the body after K deltas";
    Reset "reset" Maybe, All "the connection is reset in the middle of a chunk after K deltas";
    ErrorEvent "error" Maybe, All "an error event after K deltas, then the end";
    NoEnd "no-end" None, All "the event that ends the stream is missing";
    NoUsage "no-usage" None, All "no usage anywhere";
    NoOutput "no-output" None, All "an answer without content";
    WrongType "wrong-type" None, All "the right body under a content type that is not its own";
    JsonForStream "json-for-stream" None, All "a stream was asked for, one JSON body comes";
    StreamForJson "stream-for-json" None, All "one JSON body was asked for, a stream comes";
    ErrorBody "error-200" None, All "200 with an error object for a body";
    HugeLine "huge-line" None, All "one event is a line of a mebibyte";
    Gzip "gzip" None, All "the body comes compressed, asked for or not";
    BadArguments "bad-arguments" None, All "a tool is called with what is not JSON";
    CutTool "cut-tool" None, All "a tool call is cut short as if by the limit of tokens";
    Refusal "refusal" None, All "the model refuses";
    Words "words" Number, All "the answer has exactly N words";
    Pace "pace" Number, All "N milliseconds between events";
    Crlf "crlf" None, All "lines end with CR LF";
    Comments "comments" None, All "comment lines between events";
    Bytes "bytes" None, All "every byte is a write of its own";
    OneWrite "one-write" None, All "the whole stream in one write";
    OddEvent "odd-event" None, All "an event of an unknown kind";
    Tool "tool" None, All "calls the first tool";
    Tools "tools" Number, All "calls N tools in parallel, the first again where there are fewer";
    Redacted "redacted" None, Messages "redacted thinking after the thinking";
    PauseTurn "pause-turn" None, Messages "stops with pause_turn";
    Pings "pings" Maybe, Messages "a ping after every K deltas";
    DoneEarly "done-early" None, Chat "[DONE] without a finish_reason";
    Interleaved "interleaved" None, Chat "deltas of parallel calls take turns";
    Obfuscation "obfuscation" None, Chat "filler in every chunk";
    Filtered "content-filter" None, Chat "stops with content_filter";
    OtherEncoding "other-encoding" None, Chat "vectors in the encoding that was not asked for";
    FewerVectors "fewer-vectors" None, Chat "one vector fewer than inputs";
}

/// All faults a text asks for.
pub(crate) type Faults = markers::Faults<Marker, Protocol>;

impl Faults {
    /// Reads the markers of a text; those of other protocols do nothing.
    pub(crate) fn of(text: &str, protocol: Protocol) -> Self {
        let mut faults = Self::read(MARKERS, text, |_| {});
        let applies = |group: Protocol| [Protocol::All, protocol].contains(&group);
        faults.found.retain(|(row, _)| matches!(row.argument, Times(_)) || applies(row.group));
        faults
    }

    /// Whether the fault comes after so many deltas.
    pub(crate) fn due(&self, marker: Marker, deltas: u64) -> bool {
        self.has(marker) && self.number(marker).unwrap_or(1) == deltas
    }

    /// Whether requests have to be counted.
    pub(crate) fn refuses(&self) -> bool {
        self.found.iter().any(|(row, _)| matches!(row.argument, Times(_)))
    }

    /// The refusal, after so many earlier requests with this text.
    pub(crate) fn refusal(&self, earlier: u32) -> Option<Marker> {
        self.after(earlier, |row| matches!(row.argument, Times(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let faults = Faults::read(MARKERS, "[[[[cut:3]] [[stall]] [[words:50]]", |_| {});
        assert_eq!(faults.rest, "[[  ");
        assert_eq!((faults.number(Marker::Cut), faults.number(Marker::Words)), (Some(3), Some(50)));
        assert!(faults.due(Marker::Cut, 3) && faults.due(Marker::Stall, 1) && !faults.due(Marker::Cut, 1));
    }
}
