//! A stream of a provider that speaks Messages: every event keeps its bytes, but for the model's name. Two
//! things are put in order: a `ping` never comes before the first block, and no block stays open. A provider
//! that sends the whole message instead is relayed as if it had streamed.

use gatehouse_sdk::{Chunk, Sse, TextFailure};
use serde_json::value::RawValue;

use crate::State;
use crate::answer::clamp;
use crate::errors;
use crate::raw::{Edits, Fields, Raw, quoted, text_len};
use crate::shapes::Event;
use crate::unfold;
use crate::usage::Tally;

/// The stream so far.
pub(crate) struct FromMessages {
    model: String,
    tally: Tally,
    /// The block that is open.
    open: Option<u32>,
    /// Whether the first block has been opened.
    begun: bool,
    /// A `ping` that waits for it.
    early: Option<Sse>,
    last: bool,
}

impl FromMessages {
    pub(crate) fn new(state: State) -> Self {
        Self {
            model: state.model,
            tally: Tally::default(),
            open: None,
            begun: false,
            early: None,
            last: false,
        }
    }

    /// The provider's next event.
    ///
    /// # Errors
    /// The provider's `error` event, and what does not read.
    pub(crate) fn event(&mut self, event: Sse, chunk: &mut Chunk) -> Result<(), TextFailure> {
        let data = event.data.trim();
        if self.last || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let raw: Raw<'_> = serde_json::from_str(data).map_err(|_| errors::unreadable())?;
        let fields: Fields<'_> = serde_json::from_str(data).map_err(|_| errors::unreadable())?;
        let kind = fields.text("type").map(std::borrow::Cow::into_owned).or(event.event).unwrap_or_default();
        if kind == "error" || (fields.get("error").is_some() && fields.get("type").is_none()) {
            return Err(errors::inside(data));
        }
        if kind == "message" && fields.get("content").is_some() {
            for event in unfold::events(&fields)? {
                self.event(event, chunk)?;
            }
            if fields.get("usage").is_none() {
                // The client was given zeros; to the host nothing was reported.
                (self.tally, chunk.usage) = (Tally::default(), None);
            }
            return Ok(());
        }
        let mut written = 0;
        let mut edits = Edits::default();
        match kind.as_str() {
            "message_start" => self.start(&fields, &mut edits, chunk)?,
            "content_block_start" => {
                self.close(chunk);
                self.open = fields.get("index").and_then(|raw| serde_json::from_str(raw.get()).ok());
                written = fields.get("content_block").map_or(0, opened_with);
            }
            "content_block_delta" => written = fields.get("delta").map_or(0, grown_by),
            "content_block_stop" => self.open = None,
            "message_delta" => {
                // When the limit cuts a tool's JSON, the upstream has been seen to leave its block open.
                self.close(chunk);
                self.count(fields.get("usage"), chunk);
            }
            "message_stop" => {
                self.last = true;
                chunk.last = true;
            }
            "ping" if !self.begun => {
                self.early = Some(Sse { event: Some(kind), data: data.to_owned() });
                return Ok(());
            }
            _ => {}
        }
        chunk.output_bytes = chunk.output_bytes.saturating_add(clamp(written));
        let mut out = String::with_capacity(data.len());
        edits.write(raw, &mut out);
        let is_opening = kind == "content_block_start";
        chunk.send.push(Sse { event: Some(kind), data: out });
        if is_opening {
            self.begun = true;
            chunk.send.extend(self.early.take());
        }
        Ok(())
    }

    fn start(
        &mut self,
        fields: &Fields<'_>,
        edits: &mut Edits,
        chunk: &mut Chunk,
    ) -> Result<(), TextFailure> {
        let message = fields.get("message").ok_or_else(errors::unreadable)?;
        let message: Fields<'_> = serde_json::from_str(message.get()).map_err(|_| errors::unreadable())?;
        let (_, model) = message.0.iter().find(|(name, _)| name == "model").ok_or_else(errors::unreadable)?;
        edits.replace(model, quoted(&self.model));
        self.count(message.get("usage"), chunk);
        Ok(())
    }

    fn count(&mut self, usage: Option<&RawValue>, chunk: &mut Chunk) {
        if let Some(usage) = usage {
            self.tally.messages(usage);
            chunk.usage = self.tally.reported();
        }
    }

    fn close(&mut self, chunk: &mut Chunk) {
        if let Some(index) = self.open.take() {
            chunk.send.push(Event::ContentBlockStop { index }.sse());
        }
    }
}

/// Bytes of text a block brings along when it opens: usually none.
fn opened_with(block: Raw<'_>) -> u64 {
    texts(block, &["text", "thinking"])
}

/// Bytes of text in a delta.
fn grown_by(delta: Raw<'_>) -> u64 {
    texts(delta, &["text", "thinking", "partial_json"])
}

fn texts(raw: Raw<'_>, names: &[&str]) -> u64 {
    let fields: Fields<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
    names.iter().filter_map(|name| fields.get(name)).map(text_len).sum()
}
