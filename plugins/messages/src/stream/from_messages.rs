//! A Messages provider's stream: every event keeps its bytes, but for the model's name. Two things are
//! corrected: a `ping` never comes before the first block, and no block stays open. A whole message instead of
//! a stream is relayed as a stream.

use gatehouse_sdk::{Chunk, Context, Sse, TextFailure, Usage};
use gatehouse_text_protocols::incoming::is_error;
use gatehouse_text_protocols::json::{
    Edits, JsonString, Object, Raw, Repeated, UniqueObject, last_members, quoted,
};
use gatehouse_text_protocols::relay::{Translation, count_bytes};
use gatehouse_text_protocols::usage::{self, TokenCounts};

use super::whole_message;
use crate::response::message::{Ending, Event, StopReason, UsageForm};
use crate::response::{completed, has_counts, tells};
use crate::state::{State, unreadable};

const DELTA: &str = "content_block_delta";
/// All that a client is handed.
const EVENTS: [&str; 7] = [
    "content_block_delta",
    "content_block_start",
    "content_block_stop",
    "message_delta",
    "message_start",
    "message_stop",
    "ping",
];
/// What a delta adds to the text of its block; a block may begin with the first two.
const TEXTS: [&str; 3] = ["text", "thinking", "partial_json"];

/// The stream so far.
pub(crate) struct FromMessages {
    cx: Context,
    state: State,
    counts: TokenCounts,
    /// Bytes that the model wrote.
    written: u64,
    /// The block that is open.
    open: Option<u32>,
    /// Whether the first block has been opened.
    begun: bool,
    /// Whether a tool was called.
    has_called: bool,
    /// Why it ended, once the provider has said that.
    told: Option<Told>,
    /// A `ping` held back until then.
    early: Option<Sse>,
    /// Deltas of plain text, one like the other.
    repeated: Repeated,
    /// Those are pieces of a call's input.
    repeats_input: bool,
}

/// What the client was told of the end.
struct Told {
    /// JSON.
    delta: String,
    /// Tokens that were written.
    output: u64,
}

impl Translation for FromMessages {
    fn event(&mut self, event: Sse, chunk: &mut Chunk) -> Result<(), TextFailure> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.stop(chunk);
            return Ok(());
        }
        if self.write_again(&event, chunk) {
            return Ok(());
        }
        let raw: Raw<'_> = match serde_json::from_str(data) {
            Ok(raw) => raw,
            // Some servers send named events that are not part of the answer.
            Err(_) if event.event.as_deref().is_some_and(is_foreign) => return Ok(()),
            Err(_) => return Err(unreadable()),
        };
        let fields: UniqueObject<'_> = match serde_json::from_str(data) {
            Ok(fields) => fields,
            Err(_) => return self.again(data, event.event, chunk),
        };
        let kind = fields.text("type").map(std::borrow::Cow::into_owned).or(event.event).unwrap_or_default();
        if usage::may_report(data) {
            self.counts.read_event(&fields);
        }
        if kind == "error" || (fields.get("error").is_some_and(is_error) && fields.get("type").is_none()) {
            return Err(self.state.failures().of_error(data));
        }
        // What Bedrock and servers between say in place of an event.
        if (fields.get("type").is_none() && !is_foreign(&kind)) || kind.ends_with("xception") {
            match self.state.failures().instead(data) {
                Some(failure) => return Err(failure),
                None if kind.is_empty() => return Ok(()),
                None => {}
            }
        }
        if kind == "message" && fields.get("content").is_some() {
            let Ok(events) = whole_message::events(&fields) else {
                return self.again(data, Some(kind), chunk);
            };
            for event in events {
                self.event(event, chunk)?;
            }
            if fields.get("usage").is_none() {
                // The client reads zeros; for the host nothing was reported there.
                self.counts = TokenCounts::default();
                self.counts.read_event(&fields);
            }
            return Ok(());
        }
        if !EVENTS.contains(&kind.as_str()) {
            // A server's own words: an error, or no part of the answer.
            return match fields.get("error").is_some_and(is_error) {
                true => Err(self.state.failures().of_error(data)),
                false => Ok(()),
            };
        }
        let mut written = 0;
        let mut edits = Edits::default();
        match kind.as_str() {
            "message_start" if self.start(&fields, &mut edits).is_err() => {
                return self.again(data, Some(kind), chunk);
            }
            "content_block_start" => {
                self.close(chunk);
                let block = fields.object("content_block");
                self.has_called |= block.is_some_and(|it| it.text("type").as_deref() == Some("tool_use"));
                self.open = fields.get("index").and_then(|raw| serde_json::from_str(raw.get()).ok());
                // Usually none.
                written = fields.get("content_block").map_or(0, |block| texts(block, &TEXTS[..2]));
            }
            DELTA => {
                written = fields.get("delta").map_or(0, |delta| texts(delta, &TEXTS));
                if self.repeated.is_learning() {
                    let delta = fields.object("delta").unwrap_or_default();
                    let text = TEXTS.iter().find_map(|name| delta.string(name));
                    // Nothing else was written that would have to be counted.
                    if let Some(text) = text.filter(|text| text.len() == written) {
                        self.repeats_input = delta.get("partial_json").is_some();
                        self.repeated.learn(data, &[text], data);
                    }
                }
            }
            "content_block_stop" => self.open = None,
            "message_delta" => {
                // A provider may leave the block open when the token limit cuts a tool's JSON.
                self.close(chunk);
                let has_reason = |delta: &Raw<'_>| {
                    Object::parse(delta.get()).is_some_and(|delta| delta.get("stop_reason").is_some())
                };
                let delta = fields.get("delta").filter(has_reason);
                // A client would take the reason back. What is counted is told at the end.
                if delta.is_none() && self.told.is_some() {
                    return Ok(());
                }
                self.tell_counts(&fields, &mut edits);
                let output = self.counts.usage().output;
                self.told = delta.map(|delta| Told { delta: delta.get().to_owned(), output });
            }
            "message_stop" => {
                self.counts = self.counts.settled(self.written);
                self.close(chunk);
                self.end_reason(chunk);
                chunk.last = true;
            }
            "ping" if !self.begun => {
                self.early = Some(Sse { event: Some(kind), data: data.to_owned() });
                return Ok(());
            }
            _ => {}
        }
        self.written = self.written.saturating_add(written);
        count_bytes(chunk, written);
        let is_opening = kind == "content_block_start";
        chunk.send.push(Sse { event: Some(kind), data: edits.written(raw) });
        if is_opening {
            self.begun = true;
            chunk.send.extend(self.early.take());
        }
        Ok(())
    }

    fn repeat(&mut self, event: &Sse, chunk: &mut Chunk) -> bool {
        !self.repeats_input && self.write_again(event, chunk)
    }

    /// Everything is sent already; without `message_stop` the stream was cut.
    fn end(&mut self, _: &mut Chunk) -> Result<(), TextFailure> {
        Ok(())
    }

    fn usage(&self) -> Option<Usage> {
        self.counts.reported()
    }

    fn counts(&self) -> &TokenCounts {
        &self.counts
    }
}

impl FromMessages {
    pub(crate) fn new(cx: &Context, state: State) -> Self {
        Self {
            cx: cx.clone(),
            state,
            counts: TokenCounts::default(),
            written: 0,
            open: None,
            begun: false,
            has_called: false,
            told: None,
            early: None,
            repeated: Repeated::default(),
            repeats_input: false,
        }
    }

    /// Writes a delta that differs from an earlier one in its piece alone.
    fn write_again(&mut self, event: &Sse, chunk: &mut Chunk) -> bool {
        let is_delta = event.event.as_deref() == Some(DELTA);
        let repeated = || self.repeated.write(event.data.trim());
        let Some((data, bytes)) = is_delta.then(repeated).flatten() else { return false };
        self.written = self.written.saturating_add(bytes);
        count_bytes(chunk, bytes);
        chunk.send.push(Sse { event: event.event.clone(), data });
        true
    }

    /// Ends a stream that has its reason, and another protocol's end in place of the last event.
    fn stop(&mut self, chunk: &mut Chunk) {
        if self.told.is_some() {
            self.counts = self.counts.settled(self.written);
            self.end_reason(chunk);
            chunk.send.push(Event::MessageStop.sse());
            chunk.last = true;
        }
    }

    /// The reason of a stream that ends without one: what its provider calls the end is one. It is told once more where more was
    /// counted after it.
    fn end_reason(&self, chunk: &mut Chunk) {
        let usage = self.counts.usage();
        match &self.told {
            None if self.begun => {
                let stop_reason = if self.has_called { StopReason::ToolUse } else { StopReason::EndTurn };
                let delta = Ending { stop_reason, stop_sequence: None };
                chunk.send.push(Event::MessageDelta { delta, usage: usage.into() }.sse());
            }
            Some(Told { delta, output }) if usage.output > *output => {
                let usage = UsageForm::Short(usage.into()).json();
                let data = format!(r#"{{"type":"message_delta","delta":{delta},"usage":{usage}}}"#);
                chunk.send.push(Sse { event: Some("message_delta".to_owned()), data });
            }
            _ => {}
        }
    }

    /// Reads an event that cannot be read as it is, with the last of the members whose names stand twice.
    fn again(&mut self, data: &str, event: Option<String>, chunk: &mut Chunk) -> Result<(), TextFailure> {
        let data = last_members(data).ok_or_else(unreadable)?;
        self.event(Sse { event, data }, chunk)
    }

    fn start(&mut self, fields: &UniqueObject<'_>, edits: &mut Edits) -> Result<(), TextFailure> {
        let message = fields.get("message").ok_or_else(unreadable)?;
        let message: UniqueObject<'_> = serde_json::from_str(message.get()).map_err(|_| unreadable())?;
        let (_, model) = message.iter().find(|(name, _)| *name == "model").ok_or_else(unreadable)?;
        let counted = self.counts.usage();
        let begun = self.state.begun(counted);
        let given = message.get("usage").zip(message.object("usage"));
        if let Some((raw, _)) = given.filter(|(_, usage)| begun != counted && has_counts(usage, counted)) {
            edits.replace(raw, UsageForm::Short(begun.into()).json());
        }
        let lacking = completed(&message, &self.cx, UsageForm::Short(begun.into()), counted, edits);
        edits.replace(model, quoted(&self.state.model) + &lacking);
        Ok(())
    }

    /// Every client reads a count of what was written beside the reason, and of what was read where it is told there.
    fn tell_counts(&self, fields: &UniqueObject<'_>, edits: &mut Edits) {
        let counted = self.counts.usage();
        let is_count = |usage: Object<'_>| {
            let has_read = ["input_tokens", "total_tokens"].iter().any(|name| usage.get(name).is_some());
            tells(&usage, "output_tokens", counted.output)
                && (!has_read || tells(&usage, "input_tokens", counted.input))
                && !usage::is_odd(&usage)
        };
        if fields.object("usage").is_some_and(is_count) {
            return;
        }
        let usage = UsageForm::Short(self.counts.usage().into()).json();
        let own = fields.iter().find(|(name, _)| *name == "usage");
        match (own, fields.get("delta")) {
            (Some((_, raw)), _) => edits.replace(raw, usage),
            (None, Some(delta)) => edits.replace(delta, format!("{},\"usage\":{usage}", delta.get())),
            (None, None) => {}
        }
    }

    fn close(&mut self, chunk: &mut Chunk) {
        if let Some(index) = self.open.take() {
            chunk.send.push(Event::ContentBlockStop { index }.sse());
        }
    }
}

/// Whether the protocol has no event of that name.
fn is_foreign(name: &str) -> bool {
    const OWN: [&str; 4] = ["message", "content_block", "error", "exception"];
    !name.is_empty() && !OWN.iter().any(|own| name.starts_with(own))
}

/// Bytes of text in a block or a delta.
fn texts(raw: Raw<'_>, names: &[&str]) -> u64 {
    let fields: UniqueObject<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
    names.iter().filter_map(|name| fields.string(name)).map(JsonString::len).sum()
}
